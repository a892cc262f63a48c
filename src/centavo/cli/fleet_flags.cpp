// Definitions of the fleet commands' options, and the workload made from them.
#include "centavo/cli/fleet_flags.h"

#include <algorithm>

#include "centavo/base/text.h"
#include "centavo/fleet/architectures.h"
#include "centavo/fleet/workload_from_graph.h"
#include "centavo/models/model.h"
#include "centavo/optim/optimizer.h"
#include "centavo/passes/passes.h"
#include "centavo/plan/plan.h"
#include "centavo/train/step.h"

namespace centavo::cli {
namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> zoo() {
  std::vector<std::string> names;
  for (const ModelEntry& entry : list_models()) names.push_back(entry.name);
  return names;
}

std::string check_model(std::string& name) {
  std::vector<std::string> names = zoo();
  for (std::string& described : fleet::architecture_names())
    if (!contains(names, described)) names.push_back(std::move(described));
  if (contains(names, name)) return {};
  return fmt::format("unknown model '{}'{}", name, did_you_mean(name, names));
}

// The recorded step, with the memory planner's figure for what lives between forward and backward.
fleet::Workload recorded(const TrainingFlags& flags, int batch, const std::string& precision) {
  ModelOptions options;
  if (flags.img_size > 0) options.img_size = flags.img_size;
  const std::unique_ptr<Model> model = make_model(flags.model, options);
  const std::unique_ptr<Optimizer> optimizer =
      make_optimizer(flags.optimizer, default_options(flags.optimizer));
  StepOptions step;
  step.precision = precision_from_name(precision);
  const Graph graph = training_graph(*model, *optimizer, step, batch);
  fleet::Workload workload =
      fleet::workload_from_graph(graph, {flags.model, precision, flags.optimizer, batch,
                                         static_cast<double>(model->input_shape().elements())});
  workload.size = static_cast<int>(model->input_shape()[-1]);
  const auto never = [](const Node&, int, int) { return false; };
  workload.activation_bytes = static_cast<double>(plan_memory(schedule(graph), never).arena_bytes);
  workload.recompute_bytes = std::min(workload.recompute_bytes, workload.activation_bytes);
  return workload;
}

}  // namespace

TrainingFlags::TrainingFlags(CLI::App& app, bool batch_and_precision) {
  const std::string group = "Training";
  app.add_option("-m,--model", model,
                 "A model of the zoo, or another architecture that Centavo can describe")
      ->required()
      ->check(CLI::Validator(check_model, ""))
      ->type_name("NAME")
      ->group(group);
  app.add_option("--opt", optimizer, "Optimizer: adam, adamw, sgd, rmsprop or lamb")
      ->type_name("NAME")
      ->capture_default_str()
      ->group(group);
  app.add_option("--img-size", img_size, "Height and width of the images, or length of the texts")
      ->check(CLI::PositiveNumber)
      ->type_name("N")
      ->group(group);
  app.add_option("--input", input,
                 "synthetic (random images), images (stored photographs) or tokens")
      ->type_name("KIND")
      ->group(group);
  if (!batch_and_precision) return;
  app.add_option("-b,--batch-size", batch, "Samples of one worker's step")
      ->check(CLI::PositiveNumber)
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  app.add_option("--precision", precision,
                 "fp32, tf32, amp-fp16, bf16-mixed, bf16, matmul-bf16 or fp8")
      ->type_name("NAME")
      ->capture_default_str()
      ->group(group);
}

fleet::Workload TrainingFlags::workload(int batch_size, const std::string& in_precision) const {
  fleet::precision_from_name(in_precision);
  const bool own = contains(zoo(), model) && contains(optimizer_names(), optimizer) &&
                   contains({"fp32", "bf16-mixed", "bf16"}, in_precision);
  fleet::Workload workload =
      own ? recorded(*this, batch_size, in_precision)
          : fleet::describe_architecture({model, batch_size, in_precision, optimizer, img_size});
  if (!input.empty()) workload.input = fleet::input_kind_from_name(input);
  return workload;
}

RunFlags::RunFlags(CLI::App& app) {
  const std::string group = "Run";
  const auto number = [&](const char* flag, int& value, const char* help) {
    app.add_option(flag, value, help)->check(CLI::PositiveNumber)->type_name("N")->group(group);
  };
  number("--count", count, "Machines of each type");
  number("--workers", workers, "Workers on each machine; default: all that its chips hold");
  number("--loader-workers", loader_workers,
         "Loader workers of each worker; default: the host's vCPUs shared out");
  number("--accumulate", accumulate, "Batches of an optimizer step");
  number("--steps-per-launch", steps_per_launch, "Steps that one launch runs");
  app.add_flag("--recompute", recompute, "Compute activations again instead of keeping them")
      ->group(group);
  app.add_flag("--channels-first", channels_first, "Images and convolutions in NCHW order")
      ->group(group);
  app.add_option("--as-of", as_of, "Date of the software, for what it could not do yet: 2023-08")
      ->type_name("DATE")
      ->group(group);
}

fleet::RunSetup RunFlags::setup() const {
  fleet::RunSetup setup;
  setup.instances = count;
  setup.workers = workers;
  setup.loader_workers = loader_workers;
  setup.accumulate = accumulate;
  setup.steps_per_launch = steps_per_launch;
  setup.recompute = recompute;
  setup.layout = channels_first ? fleet::Layout::kNchw : fleet::Layout::kNhwc;
  setup.date = as_of;
  return setup;
}

PriceFlags::PriceFlags(CLI::App& app) {
  app.add_option(
         "--prices", prices,
         "A date (2023, 2023-08) for on-demand prices of that time, spot, or reserved; default: "
         "the newest on-demand prices")
      ->type_name("DATE|KIND")
      ->group("Prices");
  app.add_option("--region", region, "Preferred region")
      ->type_name("NAME")
      ->capture_default_str()
      ->group("Prices");
}

fleet::PriceChoice PriceFlags::choice() const {
  fleet::PriceChoice choice = fleet::price_choice_from_text(prices);
  choice.region = region;
  return choice;
}

void add_table_format(CLI::App& app, fleet::TableFormat& format) {
  static const std::map<std::string, fleet::TableFormat> kNames = {
      {"table", fleet::TableFormat::kTable},
      {"csv", fleet::TableFormat::kCsv},
      {"json", fleet::TableFormat::kJson},
      {"markdown", fleet::TableFormat::kMarkdown}};
  app.add_option("--format", format, "table, csv, json or markdown")
      ->transform(CLI::CheckedTransformer(kNames))
      ->type_name("NAME")
      ->default_str("table");
}

}  // namespace centavo::cli
