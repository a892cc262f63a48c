// Tries types, counts, batches and precisions; keeps the cheapest setting of each type and count.
#include "centavo/fleet/plan.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "centavo/base/error.h"
#include "centavo/base/text.h"

namespace centavo::fleet {
namespace {

// An error band holds 80 % of a normal distribution's mass: 1.28 standard deviations to each side.
constexpr double kBandDeviations = 1.28;

double normal_cdf(double z) {
  return 0.5 * std::erfc(-z / std::sqrt(2.0));
}

// That the job takes at most `deadline` hours when its predicted hours are off by a log-normal
// error.
double chance_of(double hours, double deadline, double band) {
  if (band <= 0) return hours <= deadline ? 1 : 0;
  return normal_cdf(std::log(deadline / hours) / (std::log1p(band) / kBandDeviations));
}

struct Step {
  Workload workload;
  std::string precision;
};

class Planner {
 public:
  Planner(const PlanRequest& request, const Predictor& predictor, const PriceBook& prices)
      : r_(request), predictor_(predictor), prices_(prices) {
    if (!(r_.samples > 0) || !(r_.epochs > 0))
      throw Error("plan", "samples and epochs must be positive");
    for (const std::string& precision : r_.precisions)
      for (int batch : r_.batches) steps_.push_back({r_.describe(batch, precision), precision});
    if (steps_.empty()) throw Error("plan", "no batch size or precision to try");
  }

  Plan run() {
    Plan plan;
    for (const Instance* instance : predictor_.catalogue().match(r_.instances)) {
      const Price* price = prices_.find(instance->name, r_.prices);
      if (price == nullptr) {
        plan.refused.push_back(
            {instance->name, fmt::format("no {} price is known", name_of(r_.prices.kind))});
        continue;
      }
      std::string why;
      bool any = false;
      for (int count = 1; count <= r_.max_instances; count *= 2) {
        std::optional<PlanOption> best = best_setting(*instance, count, *price, why);
        if (!best) continue;
        any = true;
        plan.options.push_back(std::move(*best));
      }
      if (!any) plan.refused.push_back({instance->name, why});
    }
    if (plan.options.empty())
      throw Error("plan", "no machine fits: {}",
                  plan.refused.empty() ? "none was tried" : plan.refused.front().why);
    std::stable_sort(plan.options.begin(), plan.options.end(),
                     [](const PlanOption& a, const PlanOption& b) {
                       if (a.feasible() != b.feasible()) return a.feasible();
                       return a.usd < b.usd;
                     });
    return plan;
  }

 private:
  std::optional<PlanOption> best_setting(const Instance& instance, int count, const Price& price,
                                         std::string& why) {
    std::optional<PlanOption> best;
    for (const Step& step : steps_) {
      if (r_.max_global_batch > 0 &&
          step.workload.batch * instance.workers() * count > r_.max_global_batch) {
        if (why.empty()) why = "the global batch would exceed its limit";
        continue;
      }
      for (bool recompute : {false, true}) {
        try {
          PlanOption option = priced(instance, count, price, step, recompute);
          // On time first, then cheaper.
          if (!best ||
              std::pair(!option.on_time, option.usd) < std::pair(!best->on_time, best->usd))
            best = std::move(option);
          break;  // recomputation only where memory asks for it
        } catch (const Error& error) {
          const std::string_view what = error.what();
          why = what.substr(what.find(']') + 2);
        }
      }
    }
    return best;
  }

  PlanOption priced(const Instance& instance, int count, const Price& price, const Step& step,
                    bool recompute) const {
    RunSetup setup;
    setup.instances = count;
    setup.recompute = recompute;
    PlanOption option;
    CompareRow& row = option.row;
    row.instance = instance.name;
    row.count = count;
    row.prediction = predictor_.predict(instance, step.workload, setup);
    row.workers = row.prediction.workers;
    row.seconds = row.prediction.seconds;
    row.samples_per_second = row.prediction.samples_per_second;
    row.price = price;
    row.band = predictor_.band(instance.chip);
    row.bound = name_of(row.prediction.bound);
    row.warning = row.prediction.warning;
    option.batch = step.workload.batch;
    option.precision = step.precision;
    option.recompute = recompute;
    double seconds = r_.samples * r_.epochs / row.samples_per_second;
    if (price.kind == PriceKind::kSpot) {
      // Any machine's interruption stops the synchronous job.
      const double mean_between = 3600 / (r_.interruptions_per_hour * count);
      option.spot =
          spot_cost(seconds, mean_between, step.workload.state_bytes / r_.checkpoint_bandwidth,
                    r_.restart_seconds);
      seconds *= 1 + option.spot->overhead;
    }
    option.hours = seconds / 3600;
    option.usd = option.hours * row.usd_per_hour();
    if (r_.deadline_hours) {
      option.on_time = option.hours <= *r_.deadline_hours;
      option.chance = chance_of(option.hours, *r_.deadline_hours, row.band);
    }
    if (r_.budget_usd) option.affordable = option.usd <= *r_.budget_usd;
    return option;
  }

  const PlanRequest& r_;
  const Predictor& predictor_;
  const PriceBook& prices_;
  std::vector<Step> steps_;
};

std::string name_of(const PlanOption& option) {
  return option.row.count == 1 ? option.row.instance
                               : fmt::format("{} x {}", option.row.count, option.row.instance);
}

const PlanOption* least(const std::vector<PlanOption>& options, double PlanOption::*by,
                        bool PlanOption::*required) {
  const PlanOption* best = nullptr;
  for (const PlanOption& option : options)
    if ((required == nullptr || option.*required) && (best == nullptr || option.*by < best->*by))
      best = &option;
  return best;
}

// Which constraint binds, and what relaxing it would buy.
std::vector<std::string> notes_of(const Plan& plan, const PlanRequest& r) {
  std::vector<std::string> notes;
  const PlanOption* fastest = least(plan.options, &PlanOption::hours, nullptr);
  const PlanOption* cheapest = least(plan.options, &PlanOption::usd, nullptr);
  const PlanOption* fastest_affordable =
      least(plan.options, &PlanOption::hours, &PlanOption::affordable);
  const PlanOption* cheapest_on_time = least(plan.options, &PlanOption::usd, &PlanOption::on_time);
  const auto cost = [](const PlanOption& o) {
    return fmt::format("{} in {:.1f} h for ${:.2f}", name_of(o), o.hours, o.usd);
  };
  if (plan.possible()) {
    const PlanOption& best = plan.options.front();
    if (cheapest->usd < 0.995 * best.usd)
      notes.push_back(fmt::format("the deadline binds: {:.1f} h more would save ${:.2f} ({})",
                                  cheapest->hours - *r.deadline_hours, best.usd - cheapest->usd,
                                  cost(*cheapest)));
    if (fastest_affordable != fastest)
      notes.push_back(
          fmt::format("the budget binds on speed: ${:.2f} more would save {:.1f} h ({})",
                      fastest->usd - *r.budget_usd, fastest_affordable->hours - fastest->hours,
                      cost(*fastest)));
    return notes;
  }
  if (cheapest_on_time == nullptr)
    notes.push_back(fmt::format("no way meets the deadline of {}: the fastest is {}",
                                human_seconds(3600 * *r.deadline_hours), cost(*fastest)));
  if (fastest_affordable == nullptr)
    notes.push_back(fmt::format("no way stays within the budget of ${:.2f}: the cheapest is {}",
                                *r.budget_usd, cost(*cheapest)));
  if (cheapest_on_time != nullptr && fastest_affordable != nullptr)
    notes.push_back(
        fmt::format("deadline and budget exclude each other: on time costs ${:.2f} ({}), "
                    "affordable takes {:.1f} h ({})",
                    cheapest_on_time->usd, cost(*cheapest_on_time), fastest_affordable->hours,
                    cost(*fastest_affordable)));
  return notes;
}

}  // namespace

SpotCost spot_cost(double undisturbed, double mean_between, double checkpoint, double restart) {
  SpotCost cost;
  cost.checkpoint_seconds = checkpoint;
  const double ratio = checkpoint / (2 * mean_between);
  // Young's sqrt(2CM) with Daly's higher-order terms; beyond C = 2M work between two interruptions
  // is all there is.
  cost.interval_seconds = ratio < 1 ? std::sqrt(2 * checkpoint * mean_between) *
                                              (1 + std::sqrt(ratio) / 3 + ratio / 9) -
                                          checkpoint
                                    : mean_between;
  const double total = mean_between * std::exp(restart / mean_between) *
                       std::expm1((cost.interval_seconds + checkpoint) / mean_between) *
                       undisturbed / cost.interval_seconds;
  cost.overhead = total / undisturbed - 1;
  cost.interruptions = total / mean_between;
  return cost;
}

Plan plan(const PlanRequest& request, const Predictor& predictor, const PriceBook& prices) {
  Plan result = Planner(request, predictor, prices).run();
  result.notes = notes_of(result, request);
  result.assumptions.push_back(
      fmt::format("{} samples in all; nothing said of how many samples a larger global batch needs",
                  with_thousands(std::llround(request.samples * request.epochs))));
  if (request.deadline_hours)
    result.assumptions.push_back("the chance follows from the prediction's error band alone");
  if (request.prices.kind == PriceKind::kSpot)
    result.assumptions.push_back(
        fmt::format("spot: {} interruptions an hour and machine, {:.0f} s to restart, checkpoints "
                    "at {:.0f} MB/s",
                    request.interruptions_per_hour, request.restart_seconds,
                    request.checkpoint_bandwidth / 1e6));
  result.assumptions.push_back("prices in US dollars, Linux; +- as in `centavo compare`");
  return result;
}

ResultTable plan_table(const Plan& plan, size_t top) {
  ResultTable table({{"INSTANCE", "instance"},
                     {"COUNT", "count"},
                     {"BATCH", "batch"},
                     {"GLOBAL", "global_batch"},
                     {"PRECISION", "precision"},
                     {"SAMPLES/S", "samples_per_second"},
                     {"HOURS", "hours"},
                     {"COST", "usd"},
                     {"ON TIME", "deadline_chance"},
                     {"CHECKPOINT", "checkpoint_interval_seconds"},
                     {"LOST", "interruption_overhead"},
                     {"PRICE", "price"},
                     {"SOURCE", "source"},
                     {"", "fits"}});
  for (size_t i = 0; i < std::min(top, plan.options.size()); ++i) {
    const PlanOption& o = plan.options[i];
    const auto number = [](double x, const char* form) {
      return Cell(x, fmt::format(fmt::runtime(form), x));
    };
    table.add(
        {o.row.instance, number(o.row.count, "{:.0f}"), number(o.batch, "{:.0f}"),
         number(o.batch * o.row.workers, "{:.0f}"),
         o.precision + (o.recompute ? ", recompute" : ""),
         number(o.row.samples_per_second, "{:.0f}"), number(o.hours, "{:.1f}"),
         number(o.usd, "${:.2f}"), Cell(o.chance, fmt::format("{:.0f} %", 100 * o.chance)),
         o.spot ? Cell(o.spot->interval_seconds, "each " + human_seconds(o.spot->interval_seconds))
                : Cell(),
         o.spot ? Cell(o.spot->overhead, fmt::format("{:.1f} %", 100 * o.spot->overhead)) : Cell(),
         describe(*o.row.price), source_of(o.row),
         o.feasible()                  ? ""
         : !o.on_time && !o.affordable ? "late, over budget"
         : o.on_time                   ? "over budget"
                                       : "late"});
  }
  return table;
}

std::string plan_text(const Plan& plan, TableFormat format, size_t top) {
  const ResultTable table = plan_table(plan, top);
  if (format == TableFormat::kCsv || format == TableFormat::kJson) return table.to_string(format);
  std::string text = table.to_string(format) + "\n";
  for (const std::string& note : plan.notes) text += note + "\n";
  for (const std::string& line : plan.assumptions) text += "  " + line + "\n";
  return text;
}

}  // namespace centavo::fleet
