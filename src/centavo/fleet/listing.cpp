// The catalogue and the price book as tables.
#include "centavo/fleet/listing.h"

#include <algorithm>

#include "centavo/base/error.h"
#include "centavo/base/text.h"
#include "centavo/fleet/compare.h"

namespace centavo::fleet {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

Cell known(double value, double shown_in, const char* form) {
  return value > 0 ? Cell(value / shown_in, fmt::format(fmt::runtime(form), value / shown_in))
                   : Cell();
}

// What the type cannot do, in short: full reasons come with a refused comparison.
std::string limits_of(const Catalogue& catalogue, const Instance& instance) {
  std::vector<std::string> words;
  if (!instance.chip.no_training.empty())
    words.push_back("no training");
  else if (!instance.chip.predictable())
    words.push_back("no published rates: no prediction");
  for (const Limit& limit : catalogue.limits()) {
    if (limit.instances == "*" || !glob_match(limit.instances, instance.name)) continue;
    if (limit.max_instances > 0)
      words.push_back(fmt::format("{} instance at most", limit.max_instances));
    if (!limit.workers.empty())
      words.push_back(fmt::format("workers: {}", fmt::join(limit.workers, " ")));
  }
  return fmt::format("{}", fmt::join(words, "; "));
}

bool matches(std::string_view name, const std::vector<std::string>& globs) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& g) { return glob_match(trim(g), name); });
}

}  // namespace

std::string instances_text(const Catalogue& catalogue, std::string_view globs,
                           const PriceBook& prices, const PriceChoice& choice, bool sources,
                           TableFormat format) {
  std::vector<ResultTable::Column> columns = {{"INSTANCE", "instance"},
                                              {"CHIPS", "chips"},
                                              {"CHIP", "chip"},
                                              {"WORKERS", "workers"},
                                              {"BF16 TF", "bf16_tflops_per_chip"},
                                              {"MEM GiB", "memory_gib_per_chip"},
                                              {"GB/s", "memory_gbps_per_chip"},
                                              {"LINK", "link"},
                                              {"VCPUS", "vcpus"},
                                              {"HOST GiB", "host_memory_gib"},
                                              {"NET Gb/s", "network_gbps"},
                                              {"EFA", "efa"},
                                              {"$/HR", "usd_per_hour"},
                                              {"PRICE", "price"},
                                              {"LIMITS", "limits"}};
  if (sources)
    columns.insert(columns.end(), {{"SOURCE", "source"}, {"CHIP SOURCE", "chip_source"}});
  ResultTable table(columns);
  for (const Instance* i : catalogue.match(globs)) {
    const Price* price = prices.find(i->name, choice);
    const auto number = [](double x) { return Cell(x, fmt::format("{:g}", x)); };
    std::vector<Cell> row = {
        i->name,
        number(i->chips),
        i->chip.name,
        number(i->workers()),
        known(i->chip.peak(NumberFormat::kBf16), 1e12, "{:.3g}"),
        known(i->chip.memory_bytes, kGiB, "{:.4g}"),
        known(i->chip.memory_bandwidth, 1e9, "{:.4g}"),
        i->chips > 1 ? i->link : "",
        number(i->vcpus),
        known(i->memory_bytes, kGiB, "{:g}"),
        known(i->network, 1e9 / 8, "{:g}"),
        i->efa ? "yes" : "",
        price ? Cell(price->usd_per_hour,
                     fmt::format("{:.4g}{}", price->usd_per_hour, price->weak ? "~" : ""))
              : Cell(),
        price ? describe(*price) : "",
        limits_of(catalogue, *i)};
    if (sources) {
      row.push_back(i->source.text + ", " + i->source.date);
      row.push_back(i->chip.source.text + ", " + i->chip.source.date);
    }
    table.add(std::move(row));
  }
  return table.to_string(format);
}

std::string prices_text(const PriceBook& prices, std::string_view globs, TableFormat format) {
  const std::vector<std::string> patterns = split(globs.empty() ? "*" : globs, ',');
  std::vector<const Price*> rows;
  for (const Price& price : prices.all())
    if (matches(price.instance, patterns)) rows.push_back(&price);
  if (rows.empty()) throw Error("prices", "no price is known for '{}'", globs);
  std::stable_sort(rows.begin(), rows.end(), [](const Price* a, const Price* b) {
    return std::pair(a->instance, b->source.date) < std::pair(b->instance, a->source.date);
  });
  ResultTable table({{"INSTANCE", "instance"},
                     {"$/HR", "usd_per_hour"},
                     {"KIND", "kind"},
                     {"REGION", "region"},
                     {"DATE", "date"},
                     {"SOURCE", "source"}});
  for (const Price* p : rows)
    table.add({p->instance,
               Cell(p->usd_per_hour, fmt::format("{:.5g}{}", p->usd_per_hour, p->weak ? "~" : "")),
               std::string(name_of(p->kind)), p->zone.empty() ? p->region : p->zone, p->source.date,
               p->source.text});
  return table.to_string(format);
}

}  // namespace centavo::fleet
