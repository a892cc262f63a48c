// Price tables in CSV: AWS price list offer files and SkyPilot's vms.csv. By libfccp.
#include <libfccp/csv.h>
#include <set>
#include <sstream>

#include "centavo/base/error.h"
#include "centavo/base/text.h"
#include "centavo/fleet/import_readers.h"

namespace centavo::fleet {
namespace {

template <unsigned columns>
using Reader = ::io::CSVReader<columns, ::io::trim_chars<>, ::io::double_quote_escape<',', '"'>>;

template <class Body>
void with_csv_errors(const std::string& name, Body body) {
  try {
    body();
  } catch (const ::io::error::base& e) {
    throw Error(name, "{}", e.what());
  }
}

// The value of a `"Key","Value"` line above an offer file's table.
std::string metadata(std::string_view text, std::string_view key) {
  const std::string opening = fmt::format("\"{}\",\"", key);
  const size_t at = text.find(opening);
  if (at == text.npos) return "";
  const size_t begin = at + opening.size();
  return std::string(text.substr(begin, text.find('"', begin) - begin));
}

}  // namespace

Imported import_offer_csv(const std::string& text, const std::string& name) {
  Imported result;
  result.format = "AWS price list offer file (CSV)";
  const size_t table = text.find("\"SKU\"");
  if (table == text.npos) throw Error(name, "an AWS price list without its table: no column 'SKU'");
  const std::string_view above = std::string_view(text).substr(0, table);
  const Source source = {"AWS price list, version " + metadata(above, "Version"),
                         date_of(metadata(above, "Publication Date"), name)};
  const auto lines_above = static_cast<unsigned>(std::count(above.begin(), above.end(), '\n'));
  with_csv_errors(name, [&] {
    std::istringstream stream(text.substr(table));
    Reader<11> in(name, stream);
    in.read_header(::io::ignore_extra_column | ::io::ignore_missing_column, "TermType", "Unit",
                   "PricePerUnit", "Currency", "Instance Type", "Tenancy", "Operating System",
                   "Pre Installed S/W", "CapacityStatus", "Region Code", "Location");
    for (const char* column :
         {"TermType", "Unit", "PricePerUnit", "Instance Type", "Operating System"})
      if (!in.has_column(column)) throw Error(name, "the price list has no column '{}'", column);
    OfferRow row;
    std::string term, currency, location;
    while (in.read_row(term, row.unit, row.price, currency, row.type, row.tenancy, row.system,
                       row.software, row.capacity, row.region, location)) {
      if (term != "OnDemand" || (!currency.empty() && currency != "USD")) {
        ++result.left_out;
        continue;
      }
      if (row.region.empty()) row.region = location;
      add_offer(result, row, source, fmt::format("{}:{}", name, in.get_file_line() + lines_above));
    }
  });
  return result;
}

Imported import_skypilot(const std::string& text, const std::string& name,
                         const std::string& date) {
  Imported result;
  result.format = "SkyPilot vms.csv";
  std::set<std::pair<std::string, std::string>> seen;  // on-demand prices repeat for every zone
  with_csv_errors(name, [&] {
    std::istringstream stream(text);
    Reader<5> in(name, stream);
    in.read_header(::io::ignore_extra_column | ::io::ignore_missing_column, "InstanceType", "Price",
                   "SpotPrice", "Region", "AvailabilityZone");
    for (const char* column : {"InstanceType", "Price", "Region"})
      if (!in.has_column(column))
        throw Error(name, "not SkyPilot's table: there is no column '{}'", column);
    Price price;
    std::string on_demand, spot;
    while (in.read_row(price.instance, on_demand, spot, price.region, price.zone)) {
      const std::string where = fmt::format("{}:{}", name, in.get_file_line());
      if (price.instance.empty() || (on_demand.empty() && spot.empty())) {
        ++result.left_out;
        continue;
      }
      price.source = {result.format, date};
      if (!spot.empty()) {
        price.kind = PriceKind::kSpot;
        price.usd_per_hour = parse_price(spot, where);
        result.prices.push_back(price);
      }
      if (!on_demand.empty() && seen.insert({price.instance, price.region}).second) {
        Price plain = price;
        plain.kind = PriceKind::kOnDemand;
        plain.zone.clear();
        plain.usd_per_hour = parse_price(on_demand, where);
        result.prices.push_back(plain);
      }
    }
  });
  return result;
}

}  // namespace centavo::fleet
