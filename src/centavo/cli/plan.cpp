// centavo plan: ways to finish a training job, ranked by what they cost.
#include "centavo/fleet/plan.h"

#include "centavo/base/error.h"
#include "centavo/cli/commands.h"
#include "centavo/cli/fleet_flags.h"

namespace centavo::cli {
namespace {

// "48h", "90m", "30s", "2d" or plain hours, in hours.
double hours_of(const std::string& text) {
  static const std::map<char, double> kUnits = {
      {'s', 1.0 / 3600}, {'m', 1.0 / 60}, {'h', 1}, {'d', 24}};
  std::string number = text;
  double unit = 1;
  if (!number.empty() && kUnits.contains(number.back())) {
    unit = kUnits.at(number.back());
    number.pop_back();
  }
  size_t used = 0;
  double value = 0;
  try {
    value = std::stod(number, &used);
  } catch (const std::exception&) {
    used = std::string::npos;
  }
  if (used != number.size() || !(value > 0))
    throw Error("--deadline", "'{}' is no time; write 48h, 90m, 30s or 2d", text);
  return unit * value;
}

struct PlanFlags {
  explicit PlanFlags(CLI::App& app) : training(app, false), prices(app) {
    app.add_option("--samples", request.samples, "Training samples of an epoch")
        ->required()
        ->check(CLI::PositiveNumber)
        ->type_name("N");
    app.add_option("--epochs", request.epochs, "Epochs")
        ->required()
        ->check(CLI::PositiveNumber)
        ->type_name("E");
    app.add_option("--deadline", deadline, "Time until it must be done: 48h, 90m, 30s, 2d")
        ->type_name("TIME");
    app.add_option("--budget", budget, "Dollars at most")
        ->check(CLI::PositiveNumber)
        ->type_name("USD");
    app.add_flag("--spot", spot, "On spot machines, with checkpoints and lost work");
    app.add_option("--interruptions", request.interruptions_per_hour,
                   "Interruptions an hour of one spot machine")
        ->check(CLI::PositiveNumber)
        ->type_name("X")
        ->capture_default_str();
    app.add_option("--max-instances", request.max_instances, "Machines at most")
        ->check(CLI::PositiveNumber)
        ->type_name("K")
        ->capture_default_str();
    app.add_option("--max-global-batch", request.max_global_batch,
                   "Samples of a step over all workers at most")
        ->check(CLI::PositiveNumber)
        ->type_name("N");
    app.add_option("-i,--instances", request.instances, "Types to consider; default: all")
        ->type_name("GLOBS");
    app.add_option("-b,--batch-sizes", request.batches, "Batches a worker to try")
        ->delimiter(',')
        ->type_name("N,...")
        ->capture_default_str();
    app.add_option("--precisions", request.precisions, "Precisions to try")
        ->delimiter(',')
        ->type_name("NAME,...")
        ->capture_default_str();
    app.add_option("--top", top, "Rows to show")
        ->check(CLI::PositiveNumber)
        ->type_name("N")
        ->capture_default_str();
    add_table_format(app, format);
  }
  TrainingFlags training;
  PriceFlags prices;
  fleet::PlanRequest request;
  std::string deadline;
  double budget = 0;
  bool spot = false;
  size_t top = 15;
  fleet::TableFormat format = fleet::TableFormat::kTable;
};

int run_command(const PlanFlags& f) {
  fleet::PlanRequest request = f.request;
  request.describe = [&](int batch, const std::string& precision) {
    return f.training.workload(batch, precision);
  };
  request.prices = f.prices.choice();
  if (f.spot) request.prices.kind = fleet::PriceKind::kSpot;
  if (!f.deadline.empty()) request.deadline_hours = hours_of(f.deadline);
  if (f.budget > 0) request.budget_usd = f.budget;
  const fleet::Plan plan = fleet::plan(request, fleet::Predictor::load(), fleet::PriceBook::load());
  fmt::print("{}", fleet::plan_text(plan, f.format, f.top));
  if (plan.possible()) return 0;
  for (const std::string& note : plan.notes) fmt::print(stderr, "centavo: {}\n", note);
  return 1;
}

}  // namespace

std::function<int()> set_up_plan(CLI::App& app) {
  auto flags = std::make_shared<PlanFlags>(app);
  app.footer(
      "Example: centavo plan --model vit_base_patch16_224 --samples 1281167 --epochs 90 --deadline "
      "48h --budget 500");
  return [flags] { return run_command(*flags); };
}

}  // namespace centavo::cli
