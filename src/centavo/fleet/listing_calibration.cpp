// The calibration and the check of rows as tables.
#include <algorithm>
#include <cmath>

#include "centavo/base/error.h"
#include "centavo/fleet/listing.h"
#include "centavo/io/json.h"

namespace centavo::fleet {
namespace {

std::string percent(double x) {
  return fmt::format("{:+.1f} %", 100 * x);
}

ResultTable error_table(const Calibration& c) {
  ResultTable table({{"ROW", "id"},
                     {"MODEL", "model"},
                     {"MACHINE", "machine"},
                     {"MEASURED", "measured"},
                     {"PREDICTED", "predicted"},
                     {"ERROR", "error"},
                     {"FITTED", "fitted_error"}});
  for (const RowError& row : c.rows)
    table.add({row.id, row.model, row.machine,
               Cell(row.measured, fmt::format("{:.1f}", row.measured)),
               Cell(row.predicted, fmt::format("{:.1f}", row.predicted)),
               Cell(row.error(), percent(row.error())),
               Cell(row.fitted / row.measured - 1, percent(row.fitted / row.measured - 1))});
  return table;
}

}  // namespace

std::string calibration_text(const Calibration& c, const std::vector<RatioRow>& ratios,
                             const Predictor& fitted, TableFormat format) {
  const ResultTable table = error_table(c);
  if (format == TableFormat::kCsv) return table.to_string(format);
  const PriceBook prices = PriceBook::load();
  if (format == TableFormat::kJson) {
    io::Json json = {{"rows", io::Json::parse(table.to_string(format))},
                     {"median_error", c.median_error},
                     {"worse_than_35_percent", c.worse_than_35},
                     {"pairs", c.pairs},
                     {"pairs_right", c.pairs_right}};
    for (const ParameterInfo& info : parameter_infos())
      json["parameters"][info.name] = c.parameters.*info.member;
    for (const RatioRow& ratio : ratios)
      json["ratios"].push_back(
          {{"id", ratio.better.id},
           {"published", ratio.price_performance},
           {"predicted",
            predicted_ratio(ratio, fitted, prices, price_choice_from_text(ratio.better.date))}});
    return json.dump(2) + "\n";
  }
  std::string text = table.to_string(format) + "\n";
  text += "ERROR: predicted with parameters fitted to the other rows; FITTED: to all rows\n";
  text += fmt::format(
      "median absolute error {:.1f} %, {} of {} rows worse than 35 %, {} of {} pairs of a model's "
      "rows ranked right\n",
      100 * c.median_error, c.worse_than_35, c.rows.size(), c.pairs_right, c.pairs);
  for (const RatioRow& ratio : ratios)
    text += fmt::format(
        "{}: {} over {} in samples per dollar: published {:.2f}, predicted {:.2f}\n",
        ratio.better.id, ratio.better.instance, ratio.than.instance, ratio.price_performance,
        predicted_ratio(ratio, fitted, prices, price_choice_from_text(ratio.better.date)));
  text += fmt::format("{} parameters for {} rows:\n", parameter_infos().size(),
                      c.rows.size() + ratios.size());
  for (const ParameterInfo& info : parameter_infos())
    text += fmt::format("  {:<14} {:.4g} {}\n", info.name, c.parameters.*info.member, info.unit);
  const ErrorBands bands = error_bands(c);
  text += fmt::format("bands: neuron +-{:.0f} %, gpu +-{:.0f} %, cpu +-{:.0f} %\n",
                      100 * bands.neuron, 100 * bands.gpu, 100 * bands.cpu);
  return text;
}

std::string check_text(const std::vector<TrainingRow>& rows, const Predictor& predictor,
                       TableFormat format) {
  ResultTable table({{"ROW", "id"},
                     {"MODEL", "model"},
                     {"MACHINE", "machine"},
                     {"PRECISION", "precision"},
                     {"MEASURED", "measured"},
                     {"PREDICTED", "predicted"},
                     {"ERROR", "error"},
                     {"BOUND BY", "bound_by"},
                     {"", "note"}});
  std::vector<double> errors;
  int worse = 0;
  for (const TrainingRow& row : rows) {
    const Cell measured(row.samples_per_second, fmt::format("{:.1f}", row.samples_per_second));
    try {
      const ResolvedRow r = resolve(row, predictor);
      const Prediction p = predictor.predict(*r.instance, r.workload, r.setup);
      const double error = p.samples_per_second / row.samples_per_second - 1;
      errors.push_back(std::abs(error));
      worse += errors.back() > 0.35;
      table.add({row.id, row.model, r.instance->name, row.precision, measured,
                 Cell(p.samples_per_second, fmt::format("{:.1f}", p.samples_per_second)),
                 Cell(error, percent(error)), std::string(name_of(p.bound)), p.warning});
    } catch (const Error& error) {
      table.add({row.id, row.model, row.instance.empty() ? row.chip : row.instance, row.precision,
                 measured, Cell(), Cell(), "", error.what()});
    }
  }
  std::string text = table.to_string(format);
  if (format == TableFormat::kCsv || format == TableFormat::kJson || errors.empty()) return text;
  std::sort(errors.begin(), errors.end());
  return text + fmt::format("\nmedian absolute error {:.1f} %, {} of {} rows worse than 35 %\n",
                            100 * errors[errors.size() / 2], worse, errors.size());
}

}  // namespace centavo::fleet
