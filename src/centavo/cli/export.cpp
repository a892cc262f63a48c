// centavo export: a model's step as a program for other compilers.
#include "centavo/cli/commands.h"
#include "centavo/cli/options.h"
#include "centavo/io/file.h"
#include "centavo/stablehlo/emit.h"

namespace centavo::cli {
namespace {

struct ExportFlags {
  explicit ExportFlags(CLI::App& app) : model(app), optimizer(app, "adam") {
    add_value(app, "Data", "-b,--batch-size", batch_size, "N", "Samples a step")->check(positive());
    add_precision(app, precision);
    CLI::Option* training =
        app.add_flag("--train", training_,
                     "The training step: forward, backward and update (the default)")
            ->group("Training");
    app.add_flag("--eval", evaluation, "The prediction: parameters and images to logits")
        ->excludes(training)
        ->group("Training");
    add_value(app, "Output", "--format", format, "NAME", "Kind of program")
        ->check(known_name("format", {"stablehlo"}));
    add_value(app, "Output", "-o,--output", output, "FILE",
              "Where to write; - for standard output");
  }
  ModelFlags model;
  OptimizerFlags optimizer;
  int64_t batch_size = 1;
  std::string precision = "bf16-mixed", format = "stablehlo", output = "-";
  bool evaluation = false;

 private:
  bool training_ = false;  // what happens without --eval
};

int run_export(const ExportFlags& f) {
  const std::unique_ptr<Model> model = f.model.make(nullptr);
  const std::unique_ptr<Optimizer> optimizer = f.optimizer.make();
  StepOptions options;
  options.precision = precision_from_name(f.precision);
  const Graph graph = f.evaluation ? prediction_graph(*model, options, f.batch_size)
                                   : training_graph(*model, *optimizer, options, f.batch_size);
  const std::string text =
      stablehlo::emit(graph, {.module_name = f.evaluation ? "prediction" : "training_step"});
  if (f.output == "-")
    fmt::print("{}", text);
  else
    io::atomic_write_file(f.output, text);
  return 0;
}

}  // namespace

std::function<int()> set_up_export(CLI::App& app) {
  auto flags = std::make_shared<ExportFlags>(app);
  app.footer("Example: centavo export --model resnet18 --train -o step.mlir");
  return [flags] { return run_export(*flags); };
}

}  // namespace centavo::cli
