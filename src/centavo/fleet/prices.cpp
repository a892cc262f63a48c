// The price book and its selection rule.
#include "centavo/fleet/prices.h"

#include <algorithm>
#include <array>

#include "centavo/base/error.h"
#include "centavo/base/text.h"
#include "centavo/fleet/data_dir.h"
#include "centavo/io/toml_reader.h"

namespace centavo::fleet {
namespace {

const std::vector<std::string> kKinds = {"on-demand", "spot", "reserved"};

// Whether a price of date `date` held at or before the end of `wanted`: 2023-07-19 is within 2023
// and 2023-08.
bool within(std::string_view date, std::string_view wanted) {
  const size_t common = std::min(date.size(), wanted.size());
  return date.substr(0, common) <= wanted.substr(0, common);
}

// YYYY, YYYY-MM or YYYY-MM-DD.
bool is_date(std::string_view text) {
  static constexpr std::string_view kForm = "dddd-dd-dd";
  if (text.size() != 4 && text.size() != 7 && text.size() != 10) return false;
  return std::equal(text.begin(), text.end(), kForm.begin(), [](char c, char form) {
    return form == 'd' ? c >= '0' && c <= '9' : c == '-';
  });
}

}  // namespace

std::string_view name_of(PriceKind kind) {
  return kKinds[static_cast<size_t>(kind)];
}

PriceKind price_kind_from_name(std::string_view name) {
  auto found = std::find(kKinds.begin(), kKinds.end(), name);
  if (found == kKinds.end())
    throw Error("prices", "unknown kind of price '{}'{}", name, did_you_mean(name, kKinds));
  return static_cast<PriceKind>(found - kKinds.begin());
}

PriceChoice price_choice_from_text(std::string_view text) {
  PriceChoice choice;
  if (is_date(text))
    choice.date = text;
  else if (std::find(kKinds.begin(), kKinds.end(), text) != kKinds.end())
    choice.kind = price_kind_from_name(text);
  else if (!text.empty())
    throw Error(
        "--prices",
        "'{}' is neither a kind of price ({}) nor a date such as 2023, 2023-08 or 2023-08-31{}",
        text, fmt::join(kKinds, ", "), did_you_mean(text, kKinds));
  return choice;
}

PriceBook PriceBook::load() {
  PriceBook book = load(data_dir());
  if (std::filesystem::exists(user_dir() / "prices.toml")) {
    const PriceBook imported = load(user_dir());
    book.prices_.insert(book.prices_.end(), imported.prices_.begin(), imported.prices_.end());
  }
  return book;
}

PriceBook PriceBook::load(const std::filesystem::path& dir) {
  PriceBook book;
  io::TomlFile file(dir / "prices.toml");
  io::TomlTable root = file.root();
  for (io::TomlTable& table : root.tables("snapshot")) {
    Price price;
    price.source = {table.text("source"), table.text("date")};
    price.region = table.text("region");
    price.kind = price_kind_from_name(table.text("kind"));
    price.zone = table.text_or("zone", "");
    price.weak = table.flag_or("weak", false);
    io::TomlTable rows = table.table("prices");
    for (const std::string& name : rows.keys()) {
      price.instance = name;
      price.usd_per_hour = rows.number(name, 1e-4);
      book.add(price);
    }
    table.finish();
  }
  root.finish();
  return book;
}

const Price* PriceBook::find(std::string_view instance, const PriceChoice& choice) const {
  const Price* best = nullptr;
  // Preferred region first, then the newest, then the cheapest.
  const auto better = [&](const Price& a, const Price& b) {
    const bool home_a = a.region == choice.region, home_b = b.region == choice.region;
    if (home_a != home_b) return home_a;
    if (a.source.date != b.source.date) return a.source.date > b.source.date;
    return a.usd_per_hour < b.usd_per_hour;
  };
  for (const Price& price : prices_) {
    if (price.instance != instance || price.kind != choice.kind) continue;
    if (!within(price.source.date, choice.date)) continue;
    if (best == nullptr || better(price, *best)) best = &price;
  }
  return best;
}

const Price* PriceBook::earliest(std::string_view instance, PriceKind kind) const {
  const Price* first = nullptr;
  for (const Price& price : prices_)
    if (price.instance == instance && price.kind == kind &&
        (first == nullptr || price.source.date < first->source.date))
      first = &price;
  return first;
}

}  // namespace centavo::fleet
