// Predicts or looks up every row, prices it, and marks the best.
#include "centavo/fleet/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "centavo/base/error.h"
#include "centavo/base/text.h"
#include "centavo/fleet/architectures.h"

namespace centavo::fleet {
namespace {

std::string chips_of(const Instance& instance, int count) {
  const std::string each = instance.chip.kind == ChipKind::kCpu
                               ? fmt::format("{} cores {}", instance.cores, instance.chip.name)
                               : fmt::format("{} {}", instance.chips, instance.chip.name);
  return count == 1 ? each : fmt::format("{} x {}", count, each);
}

// Rows and workloads without a size have the model's own.
bool same_size(const TrainingRow& row, const Workload& workload) {
  const auto resolved = [&](int size) { return size > 0 ? size : own_size(row.model); };
  const int measured = resolved(row.size), wanted = resolved(workload.size);
  return measured == 0 || wanted == 0 || measured == wanted;
}

bool same_training(const TrainingRow& row, const Workload& workload, const RunSetup& setup,
                   int workers) {
  return row.model == workload.model && row.batch == workload.batch &&
         row.precision == workload.precision && row.optimizer == workload.optimizer &&
         row.devices == workers && row.accumulate == setup.accumulate && same_size(row, workload);
}

void use_measured(CompareRow& row, const TrainingRow& measured) {
  row.measured = true;
  row.samples_per_second = measured.samples_per_second;
  row.seconds = row.workers * measured.batch * measured.accumulate / measured.samples_per_second;
  row.bound.clear();
  row.band = 0;
}

CompareRow predicted_row(const Instance& instance, const CompareRequest& request,
                         const Predictor& predictor, const std::map<ChipKind, double>& factors) {
  CompareRow row;
  row.instance = instance.name;
  row.count = request.setup.instances;
  row.chips = chips_of(instance, row.count);
  row.prediction = predictor.predict(instance, request.workload, request.setup);
  row.workers = row.prediction.workers;
  const double factor = factors.at(instance.chip.kind);
  row.samples_per_second = factor * row.prediction.samples_per_second;
  row.seconds = row.prediction.seconds / factor;
  row.band = predictor.band(instance.chip);
  row.bound = name_of(row.prediction.bound);
  row.warning = row.prediction.warning;
  return row;
}

// Rows measured on machines outside the catalogue, such as one's own.
void add_strangers(Comparison& result, const CompareRequest& request, const Predictor& predictor) {
  for (const TrainingRow& measured : request.measured) {
    const auto& all = predictor.catalogue().instances();
    const bool known = std::any_of(all.begin(), all.end(),
                                   [&](const Instance& i) { return i.name == measured.instance; });
    if (known || !same_training(measured, request.workload, request.setup, measured.devices))
      continue;
    CompareRow row;
    row.instance = measured.instance.empty() ? "(this machine)" : measured.instance;
    row.chips = measured.chip;
    row.workers = measured.devices;
    use_measured(row, measured);
    result.rows.push_back(std::move(row));
  }
}

void mark(std::vector<CompareRow>& rows) {
  CompareRow *cheapest = nullptr, *fastest = nullptr;
  for (CompareRow& row : rows) {
    if (fastest == nullptr || row.samples_per_second > fastest->samples_per_second) fastest = &row;
    if (!row.price) continue;
    if (cheapest == nullptr || row.usd_per_million() < cheapest->usd_per_million()) cheapest = &row;
    // Nothing else is at least as cheap and at least as fast, and better in one.
    row.pareto = std::none_of(rows.begin(), rows.end(), [&](const CompareRow& other) {
      return other.price && other.usd_per_million() <= row.usd_per_million() &&
             other.samples_per_second >= row.samples_per_second &&
             (other.usd_per_million() < row.usd_per_million() ||
              other.samples_per_second > row.samples_per_second);
    });
  }
  if (cheapest != nullptr) cheapest->cheapest = true;
  if (fastest != nullptr) fastest->fastest = true;
}

// What is said of rows without a price: one that became known later, or none at all.
std::vector<std::string> missing_prices(const std::vector<CompareRow>& rows,
                                        const PriceChoice& choice, const PriceBook& prices) {
  std::map<std::string, std::vector<std::string>> later;  // names by the first price's date
  size_t unknown = 0;
  for (const CompareRow& row : rows) {
    if (row.price) continue;
    if (const Price* first = prices.earliest(row.instance, choice.kind))
      later[first->source.date].push_back(row.instance);
    else
      ++unknown;
  }
  std::vector<std::string> lines;
  for (const auto& [date, names] : later)
    lines.push_back(fmt::format("no {} price of {} is known by {}: the first known is of {}",
                                name_of(choice.kind), fmt::join(names, ", "), choice.date, date));
  if (unknown > 0)
    lines.push_back(
        fmt::format("no {} price at all is known of {} of the machines: shown without cost",
                    name_of(choice.kind), unknown));
  return lines;
}

std::vector<std::string> assumptions_of(const CompareRequest& request, const Comparison& result,
                                        const Predictor& predictor, const PriceBook& book,
                                        const std::map<ChipKind, double>& factors) {
  std::vector<std::string> lines;
  const Workload& w = request.workload;
  lines.push_back(fmt::format(
      "{} input; loader workers share out the host's vCPUs; gradients are reduced in buckets while "
      "backward runs",
      name_of(w.input)));
  std::set<std::string> stacks, prices;
  bool predicted = false, weak = false;
  for (const CompareRow& row : result.rows) {
    if (row.price) {
      prices.insert(describe(*row.price));
      weak |= row.price->weak;
    }
    if (row.measured) continue;
    predicted = true;
    stacks.insert(
        predictor.software().for_chip(predictor.catalogue().instance(row.instance).chip.kind).name);
  }
  if (predicted) {
    lines.push_back(fmt::format(
        "predicted for {}; +- is what about 80 % of leave-one-out errors on published figures stay "
        "within, half as much again on chips without a published figure",
        fmt::join(stacks, "; ")));
    for (const auto& [kind, factor] : factors)
      if (factor != 1)
        lines.push_back(fmt::format("{} predictions scaled by {:.2f} to the measured rows",
                                    name_of(kind), factor));
  }
  if (!prices.empty())
    lines.push_back(fmt::format("prices in US dollars, Linux: {}", fmt::join(prices, "; ")));
  if (weak) lines.push_back("~ marks a price known from one secondary source only");
  for (std::string& line : missing_prices(result.rows, request.prices, book))
    lines.push_back(std::move(line));
  return lines;
}

void sort_rows(std::vector<CompareRow>& rows, SortBy by) {
  std::stable_sort(rows.begin(), rows.end(), [&](const CompareRow& a, const CompareRow& b) {
    if (by == SortBy::kSpeed) return a.samples_per_second > b.samples_per_second;
    if (a.price.has_value() != b.price.has_value()) return a.price.has_value();
    return a.price ? a.usd_per_million() < b.usd_per_million()
                   : a.samples_per_second > b.samples_per_second;
  });
}

}  // namespace

std::string describe(const Price& price) {
  return fmt::format("{}, {}, {}", name_of(price.kind),
                     price.zone.empty() ? price.region : price.zone, price.source.date);
}

double speed_factor(const std::vector<TrainingRow>& measured, ChipKind kind,
                    const Predictor& predictor) {
  double sum = 0;
  int count = 0;
  for (const TrainingRow& row : measured) {
    try {
      const ResolvedRow r = resolve(row, predictor);
      if (r.instance->chip.kind != kind) continue;
      sum += std::log(row.samples_per_second /
                      predictor.predict(*r.instance, r.workload, r.setup).samples_per_second);
      ++count;
    } catch (const Error&) {  // a machine or model outside the catalogue tells nothing of others
    }
  }
  return std::exp(sum / (count + 1));
}

Comparison compare(const CompareRequest& request, const Predictor& predictor,
                   const PriceBook& prices) {
  Comparison result;
  const Workload& w = request.workload;
  result.title =
      fmt::format("{}, batch {} a worker, {}, {}", w.model, w.batch, w.precision, w.optimizer);
  std::map<ChipKind, double> factors;
  for (ChipKind kind : {ChipKind::kNeuron, ChipKind::kGpu, ChipKind::kCpu, ChipKind::kOther})
    factors[kind] = speed_factor(request.measured, kind, predictor);
  for (const Instance* instance : predictor.catalogue().match(request.instances)) {
    try {
      CompareRow row = predicted_row(*instance, request, predictor, factors);
      for (const TrainingRow& measured : request.measured)
        if (measured.instance == row.instance &&
            same_training(measured, w, request.setup, row.workers))
          use_measured(row, measured);
      if (const Price* price = prices.find(row.instance, request.prices)) row.price = *price;
      result.rows.push_back(std::move(row));
    } catch (const Error& error) {
      const std::string_view what = error.what();
      result.refused.push_back({instance->name, std::string(what.substr(what.find(']') + 2))});
    }
  }
  add_strangers(result, request, predictor);
  if (result.rows.empty())
    throw Error("compare", "no instance type can run this: {} ({})", result.refused.front().why,
                result.refused.front().instance);
  mark(result.rows);
  sort_rows(result.rows, request.sort);
  result.assumptions = assumptions_of(request, result, predictor, prices, factors);
  return result;
}

}  // namespace centavo::fleet
