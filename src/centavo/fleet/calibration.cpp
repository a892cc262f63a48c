// The fit, by NLopt's Nelder-Mead simplex on the logarithms of the parameters, and leave-one-out
// errors.
#include "centavo/fleet/calibration.h"

#include <algorithm>
#include <cmath>
#include <nlopt.hpp>

#include "centavo/base/error.h"

namespace centavo::fleet {
namespace {

// Errors up to about this size count squared, larger ones in proportion.
constexpr double kRobustScale = 0.1;

struct Fit {
  const Predictor& base;
  std::vector<ResolvedRow> rows;
  std::vector<double> measured;

  Predictor with(const std::vector<double>& logs) const {
    Parameters parameters;
    for (size_t i = 0; i < logs.size(); ++i)
      parameters.*parameter_infos()[i].member = std::exp(logs[i]);
    Predictor predictor = base;
    predictor.set_parameters(parameters);
    return predictor;
  }

  double loss(const std::vector<double>& logs) const {
    const Predictor predictor = with(logs);
    double sum = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const double rate =
          predictor.predict(*rows[i].instance, rows[i].workload, rows[i].setup).samples_per_second;
      const double error = std::log(rate / measured[i]) / kRobustScale;
      sum += std::sqrt(1 + error * error) - 1;
    }
    for (size_t i = 0; i < logs.size(); ++i) {
      const ParameterInfo& info = parameter_infos()[i];
      const double away = (logs[i] - std::log(info.prior)) / info.spread;
      sum += 0.5 * away * away;
    }
    return sum;
  }
};

Fit make_fit(std::span<const TrainingRow> rows, const Predictor& predictor) {
  Fit fit{predictor, {}, {}};
  for (const TrainingRow& row : rows) {
    fit.rows.push_back(resolve(row, predictor));
    fit.measured.push_back(row.samples_per_second);
  }
  return fit;
}

std::vector<double> minimize(const Fit& fit, std::vector<double> logs) {
  nlopt::opt optimizer(nlopt::LN_NELDERMEAD, static_cast<unsigned>(logs.size()));
  optimizer.set_min_objective([](const std::vector<double>& x, std::vector<double>&,
                                 void* data) { return static_cast<const Fit*>(data)->loss(x); },
                              const_cast<Fit*>(&fit));
  optimizer.set_initial_step(0.1);
  optimizer.set_xtol_abs(2e-3);
  optimizer.set_maxeval(600);
  double value = 0;
  optimizer.optimize(logs, value);
  return logs;
}

std::vector<double> prior_logs() {
  std::vector<double> logs;
  for (const ParameterInfo& info : parameter_infos()) logs.push_back(std::log(info.prior));
  return logs;
}

double predict(const Predictor& predictor, const ResolvedRow& row) {
  return predictor.predict(*row.instance, row.workload, row.setup).samples_per_second;
}

void count_pairs(Calibration& result) {
  for (size_t i = 0; i < result.rows.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const RowError &a = result.rows[i], &b = result.rows[j];
      if (a.model != b.model || std::abs(std::log(a.measured / b.measured)) < 0.05) continue;
      ++result.pairs;
      result.pairs_right += (a.measured < b.measured) == (a.predicted < b.predicted);
    }
}

double quantile(std::vector<double> values, double q) {
  CENTAVO_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const size_t low = static_cast<size_t>(at), high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

}  // namespace

Parameters fit(std::span<const TrainingRow> rows, const Predictor& predictor) {
  const Fit problem = make_fit(rows, predictor);
  return problem.with(minimize(problem, prior_logs())).parameters();
}

Calibration calibrate(std::span<const TrainingRow> rows, const Predictor& predictor) {
  if (rows.size() < 3)
    throw Error("fleet calibrate", "{} rows are too few to calibrate on", rows.size());
  const Fit all = make_fit(rows, predictor);
  const std::vector<double> best = minimize(all, prior_logs());
  Calibration result;
  result.parameters = all.with(best).parameters();
  std::vector<double> errors;
  for (size_t i = 0; i < rows.size(); ++i) {
    Fit others = all;
    others.rows.erase(others.rows.begin() + static_cast<ptrdiff_t>(i));
    others.measured.erase(others.measured.begin() + static_cast<ptrdiff_t>(i));
    RowError row;
    row.id = rows[i].id;
    row.model = rows[i].model;
    row.machine = all.rows[i].instance->name;
    row.chip = all.rows[i].instance->chip.name;
    row.chip_kind = all.rows[i].instance->chip.kind;
    row.measured = rows[i].samples_per_second;
    row.predicted = predict(all.with(minimize(others, best)), all.rows[i]);
    row.fitted = predict(all.with(best), all.rows[i]);
    errors.push_back(std::abs(row.error()));
    result.worse_than_35 += errors.back() > 0.35;
    result.rows.push_back(std::move(row));
  }
  result.median_error = quantile(errors, 0.5);
  count_pairs(result);
  return result;
}

ErrorBands error_bands(const Calibration& calibration) {
  const auto band = [&](ChipKind kind) {
    std::vector<double> own, all;
    for (const RowError& row : calibration.rows) {
      all.push_back(std::abs(row.error()));
      if (row.chip_kind == kind) own.push_back(all.back());
    }
    return quantile(own.size() >= 4 ? own : all, 0.8);
  };
  ErrorBands bands{band(ChipKind::kNeuron), band(ChipKind::kGpu), band(ChipKind::kCpu), {}};
  for (const RowError& row : calibration.rows)
    if (std::find(bands.chips.begin(), bands.chips.end(), row.chip) == bands.chips.end())
      bands.chips.push_back(row.chip);
  return bands;
}

double predicted_ratio(const RatioRow& ratio, const Predictor& predictor, const PriceBook& prices,
                       const PriceChoice& choice) {
  const auto samples_per_dollar = [&](const TrainingRow& row) {
    const ResolvedRow resolved = resolve(row, predictor);
    const Price* price = prices.find(resolved.instance->name, choice);
    if (price == nullptr) throw Error("fleet", "no price for {}", resolved.instance->name);
    return predict(predictor, resolved) / price->usd_per_hour;
  };
  return samples_per_dollar(ratio.better) / samples_per_dollar(ratio.than);
}

}  // namespace centavo::fleet
