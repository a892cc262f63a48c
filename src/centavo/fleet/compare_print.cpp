// The comparison as tables and text.
#include <algorithm>
#include <map>

#include "centavo/base/error.h"
#include "centavo/base/text.h"
#include "centavo/fleet/compare.h"
#include "centavo/io/json.h"

namespace centavo::fleet {
namespace {

// Three significant digits, without an exponent.
std::string digits(double x) {
  if (x >= 1000) return with_thousands(static_cast<int64_t>(x + 0.5));
  return fmt::format("{:.{}f}", x, x >= 100 ? 0 : x >= 10 ? 1 : x >= 1 ? 2 : 3);
}

std::string marks_of(const CompareRow& row) {
  std::vector<std::string> marks;
  if (row.cheapest) marks.push_back("cheapest");
  if (row.fastest) marks.push_back("fastest");
  if (row.pareto && !row.cheapest && !row.fastest) marks.push_back("pareto");
  if (!row.warning.empty()) marks.push_back("warning");
  return fmt::format("{}", fmt::join(marks, ", "));
}

// Refused types by reason, in order of first appearance.
std::vector<std::pair<std::string, std::vector<std::string>>> grouped(
    const std::vector<Refusal>& refusals) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const Refusal& refusal : refusals) {
    auto found = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& g) { return g.first == refusal.why; });
    if (found == groups.end()) found = groups.insert(groups.end(), {refusal.why, {}});
    found->second.push_back(refusal.instance);
  }
  return groups;
}

}  // namespace

std::string source_of(const CompareRow& row) {
  return row.measured ? "measured" : fmt::format("predicted +-{:.0f} %", 100 * row.band);
}

ResultTable compare_table(const Comparison& comparison) {
  ResultTable table({{"INSTANCE", "instance"},
                     {"CHIPS", "chips"},
                     {"WORKERS", "workers"},
                     {"SEC/STEP", "step_seconds"},
                     {"SAMPLES/S", "samples_per_second"},
                     {"$/HR", "usd_per_hour"},
                     {"$/1M SAMPLES", "usd_per_million_samples"},
                     {"VS CHEAPEST", "cost_over_cheapest"},
                     {"BOUND BY", "bound_by"},
                     {"SOURCE", "source"},
                     {"", "marks"}});
  double cheapest = 0;
  for (const CompareRow& row : comparison.rows)
    if (row.cheapest) cheapest = row.usd_per_million();
  for (const CompareRow& row : comparison.rows) {
    const auto priced = [&](double value, std::string shown) {
      return row.price ? Cell(value, std::move(shown)) : Cell();
    };
    const double million = row.usd_per_million();
    table.add({row.instance, row.chips, Cell(row.workers, fmt::format("{}", row.workers)),
               Cell(row.seconds, fmt::format("{:.4f}", row.seconds)),
               Cell(row.samples_per_second, digits(row.samples_per_second)),
               priced(row.usd_per_hour(),
                      digits(row.usd_per_hour()) + (row.price && row.price->weak ? "~" : "")),
               priced(million, digits(million)),
               priced(million / cheapest, fmt::format("{:.2f}x", million / cheapest)), row.bound,
               source_of(row), marks_of(row)});
  }
  return table;
}

std::string compare_text(const Comparison& comparison, TableFormat format) {
  const ResultTable table = compare_table(comparison);
  if (format == TableFormat::kCsv) return table.to_string(format);
  if (format == TableFormat::kJson) {
    io::Json json = {{"training", comparison.title},
                     {"rows", io::Json::parse(table.to_string(format))}};
    for (size_t i = 0; i < comparison.rows.size(); ++i) {
      const CompareRow& row = comparison.rows[i];
      io::Json& object = json["rows"][i];
      object["band"] = row.measured ? 0 : row.band;
      object["price"] = row.price ? io::Json(describe(*row.price)) : io::Json(nullptr);
      object["warning"] = row.warning;
    }
    for (const Refusal& refusal : comparison.refused)
      json["refused"].push_back({{"instance", refusal.instance}, {"why", refusal.why}});
    json["assumptions"] = comparison.assumptions;
    return json.dump(2) + "\n";
  }
  const std::string bullet = format == TableFormat::kMarkdown ? "- " : "  ";
  std::string text = comparison.title + "\n\n" + table.to_string(format) + "\n";
  std::map<std::string, std::vector<std::string>> warnings;
  for (const CompareRow& row : comparison.rows)
    if (!row.warning.empty()) warnings[row.warning].push_back(row.instance);
  for (const auto& [warning, names] : warnings)
    text += fmt::format("{}warning, {}: {}\n", bullet, fmt::join(names, " "), warning);
  for (const auto& [why, names] : grouped(comparison.refused))
    text += fmt::format("{}not {}: {}\n", bullet, fmt::join(names, " "), why);
  for (const std::string& line : comparison.assumptions) text += bullet + line + "\n";
  return text;
}

}  // namespace centavo::fleet
