// centavo summary: layers, output shapes, parameters, FLOPs, and what a training step needs.
#include <map>

#include "centavo/base/text.h"
#include "centavo/cli/commands.h"
#include "centavo/cli/options.h"
#include "centavo/cli/table.h"
#include "centavo/io/json.h"
#include "centavo/ir/graph.h"
#include "centavo/ir/op.h"

namespace centavo::cli {
namespace {

struct SummaryFlags {
  explicit SummaryFlags(CLI::App& app) : model(app), optimizer(app, "adam") {
    add_value(app, "Data", "-b,--batch-size", batch_size, "N",
              "Samples a step, for FLOPs and memory")
        ->check(positive());
    add_precision(app, precision);
    add_format(app, format);
  }
  ModelFlags model;
  OptimizerFlags optimizer;
  int64_t batch_size = 1;
  std::string precision = "bf16-mixed";
  Format format = Format::kTable;
};

struct Layer {
  std::string name;    // its parameters' common prefix
  std::string output;  // type of what it returns for the batch
  int64_t parameters = 0;
  double flops = 0;  // forward, of the batch
};

// The layers in the order in which the forward pass meets them, from the scopes that it records.
std::vector<Layer> layers_of(const Model& model, Precision precision, int64_t batch) {
  std::vector<Tensor> values;
  for (const ParameterSpec& spec : model.parameters().specs())
    values.push_back(make_input({parameter_dtype(precision), spec.shape}));
  std::vector<int64_t> dims = model.input_shape().dims();
  dims.insert(dims.begin(), batch);
  std::vector<Tensor> inputs = values;
  inputs.push_back(make_input({DType::kF32, Shape(dims)}));
  Context ctx(values, precision, false);
  Graph graph = build_graph(inputs, {model.forward(ctx, inputs.back())});
  std::vector<Layer> layers;
  std::map<std::string, size_t> at;
  for (const auto& node : graph.nodes) {
    if (node->op == &op_input) continue;
    std::string scope = node->scope.empty() ? "(model)" : node->scope;
    auto [found, fresh] = at.emplace(scope, layers.size());
    if (fresh) layers.push_back({scope});
    Layer& layer = layers[found->second];
    layer.output = to_string(node->types[0]);
    layer.flops += cost_of(*node).flops;
  }
  for (const ParameterSpec& spec : model.parameters().specs()) {
    auto found = at.find(spec.name.substr(0, spec.name.rfind('.')));
    if (found == at.end()) found = at.find("(model)");
    if (found != at.end()) layers[found->second].parameters += spec.shape.elements();
  }
  return layers;
}

int run_summary(const SummaryFlags& f) {
  std::unique_ptr<Model> model = f.model.make(nullptr);
  Precision precision = precision_from_name(f.precision);
  std::vector<Layer> layers = layers_of(*model, precision, f.batch_size);
  std::unique_ptr<Optimizer> optimizer = f.optimizer.make();
  TrainStep step(*model, *optimizer, {precision, 0, 42, open_device("cpu")});
  const ExecutableInfo& info = step.executable(f.batch_size).info();
  double flops = 0;
  for (const Layer& layer : layers) flops += layer.flops;
  const int64_t parameters = model->parameters().trainable_elements();
  const int64_t parameter_bytes = parameters * size_of(parameter_dtype(precision));
  const int64_t state_bytes =
      parameter_bytes * static_cast<int64_t>(optimizer->state_names().size());

  if (f.format == Format::kJson) {
    io::Json json = {{"model", model->name()},         {"params", parameters},
                     {"batch_size", f.batch_size},     {"precision", f.precision},
                     {"forward_gflops", flops / 1e9},  {"parameter_bytes", parameter_bytes},
                     {"optimizer_bytes", state_bytes}, {"planned_bytes", info.planned_bytes()},
                     {"layers", io::Json::array()}};
    for (const Layer& l : layers)
      json["layers"].push_back({{"name", l.name},
                                {"output", l.output},
                                {"params", l.parameters},
                                {"forward_gflops", l.flops / 1e9}});
    fmt::print("{}\n", json.dump(2));
    return 0;
  }
  Table table({{"Layer"}, {"Output"}, {"Param #", Align::kRight}, {"MFLOP", Align::kRight}});
  for (const Layer& l : layers)
    table.add({l.name, l.output, l.parameters ? with_thousands(l.parameters) : "",
               fmt::format("{:.1f}", l.flops / 1e6)});
  fmt::print("{}\n", table.to_string());
  auto row = [](const char* key, const std::string& value) {
    fmt::print("{:<22}{}\n", key, value);
  };
  row("parameters", fmt::format("{} ({})", with_thousands(parameters),
                                human_bytes(static_cast<double>(parameter_bytes))));
  row("optimizer state",
      fmt::format("{} ({})", human_bytes(static_cast<double>(state_bytes)), optimizer->name()));
  row("forward", fmt::format("{:.2f} GFLOP for a batch of {}", flops / 1e9, f.batch_size));
  row("training step",
      fmt::format("{:.2f} GFLOP in matrix products", step.matrix_flops(f.batch_size) / 1e9));
  row("planned peak", fmt::format("{} ({} arguments, {} temporaries)",
                                  human_bytes(static_cast<double>(info.planned_bytes())),
                                  human_bytes(static_cast<double>(info.argument_bytes)),
                                  human_bytes(static_cast<double>(info.temporary_bytes))));
  return 0;
}

}  // namespace

std::function<int()> set_up_summary(CLI::App& app) {
  auto flags = std::make_shared<SummaryFlags>(app);
  app.footer("Example: centavo summary --model vit_base_patch16_224 --batch-size 16");
  return [flags] { return run_summary(*flags); };
}

}  // namespace centavo::cli
