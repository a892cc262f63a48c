// Workloads from recorded graphs: against hand counts, and against the analytic descriptions of the
// same models.
#include "centavo/ir/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "centavo/autodiff/grad.h"
#include "centavo/base/error.h"
#include "centavo/fleet/architectures.h"
#include "centavo/fleet/data_dir.h"
#include "centavo/fleet/predictor.h"
#include "centavo/fleet/workload_from_graph.h"
#include "centavo/models/model.h"
#include "centavo/ops/ops.h"
#include "centavo/optim/optimizer.h"

namespace centavo::fleet {
namespace {

// The training step of a model of the zoo, as the step records it.
Graph record_step(const std::string& name, const std::string& precision,
                  const std::string& optimizer_name, int batch) {
  const std::unique_ptr<Model> model = make_model(name);
  const centavo::Precision p = centavo::precision_from_name(precision);
  const auto optimizer = make_optimizer(optimizer_name, default_options(optimizer_name));
  std::vector<Tensor> parameters;
  for (const ParameterSpec& spec : model->parameters().specs())
    parameters.push_back(make_input({parameter_dtype(p), spec.shape}));
  std::vector<int64_t> dims = model->input_shape().dims();
  dims.insert(dims.begin(), batch);
  const Tensor images = make_input({DType::kF32, Shape(dims)}),
               labels = make_input({DType::kI32, {batch}});
  const Tensor key = make_input({DType::kU32, {2}});
  const Tensor hyper =
      make_input({DType::kF32, {static_cast<int64_t>(optimizer->hyper(1, 0).size())}});
  Context ctx(parameters, p, true, key);
  const Tensor loss =
      mean(cross_entropy(convert(model->forward(ctx, images), DType::kF32), labels));
  std::vector<Tensor> inputs = parameters, outputs = {loss}, trainable;
  for (size_t i = 0; i < parameters.size(); ++i)
    if (model->parameters().specs()[i].trainable) trainable.push_back(parameters[i]);
  const std::vector<Tensor> gradients = grad(loss, trainable);
  for (size_t i = 0; i < trainable.size(); ++i) {
    std::vector<Tensor> state;
    for (size_t s = 0; s < optimizer->state_names().size(); ++s)
      state.push_back(make_input(trainable[i].type()));
    inputs.insert(inputs.end(), state.begin(), state.end());
    const Optimizer::Update update = optimizer->update(trainable[i], gradients[i], state, hyper);
    outputs.push_back(update.parameter);
    outputs.insert(outputs.end(), update.state.begin(), update.state.end());
  }
  for (const Tensor& t : {images, labels, hyper, key}) inputs.push_back(t);
  return build_graph(inputs, outputs);
}

double bytes(const Workload& step, OpClass op_class) {
  double sum = 0;
  for (const OpCost& op : step.ops) sum += op.op_class == op_class ? op.bytes : 0;
  return sum;
}

TEST(WorkloadFromGraph, CountsASmallNetByHand) {
  // x[6, 5] w[5, 4] -> add bias -> relu-like maximum -> w2[4, 3] -> loss; one update of each
  // weight.
  const Tensor x = make_input({DType::kF32, {6, 5}}), w = make_input({DType::kF32, {5, 4}}),
               b = make_input({DType::kF32, {4}}), w2 = make_input({DType::kF32, {4, 3}}),
               labels = make_input({DType::kI32, {6}}), hyper = make_input({DType::kF32, {1}});
  const Tensor hidden = tanh(linear(x, transpose(w, {1, 0}), b));
  const Tensor loss = mean(cross_entropy(matmul(hidden, w2), labels));
  const std::vector<Tensor> g = grad(loss, {w, b, w2});
  std::vector<Tensor> outputs = {loss};
  for (const auto& [p, d] : {std::pair{w, g[0]}, {b, g[1]}, {w2, g[2]}})
    outputs.push_back(sgd_update(p, d, {}, hyper, {}).parameter);
  const Workload step = workload_from_graph(build_graph({x, w, b, w2, labels, hyper}, outputs),
                                            {"net", "fp32", "sgd", 6, 5});
  EXPECT_EQ(step.parameters, 5 * 4 + 4 + 4 * 3);
  EXPECT_EQ(step.gradient_bytes, 4 * step.parameters);
  EXPECT_EQ(step.state_bytes, 8 * step.parameters);
  // Forward two products, backward the weights' two and the hidden layer's input gradient.
  EXPECT_EQ(step.flops(OpClass::kMatmul), 2.0 * 6 * 5 * 4 * 2 + 2.0 * 6 * 4 * 3 * 3);
  int products = 0;
  for (const OpCost& op : step.ops) products += op.op_class == OpClass::kMatmul;
  EXPECT_EQ(products, 5);
  EXPECT_EQ(step.ops.front().m, 6);
  EXPECT_EQ(step.ops.front().n, 4);
  EXPECT_EQ(step.ops.front().k, 5);
  double complete = 0;
  for (const OpCost& op : step.ops) complete += op.gradient_bytes;
  EXPECT_EQ(complete, step.gradient_bytes);
}

TEST(WorkloadFromGraph, AgreesWithTheAnalyticDescription) {
  for (const char* model : {"vit_tiny_patch16_224", "vit_base_patch16_224", "resnet18", "resnet50"})
    for (const char* precision : {"fp32", "bf16"}) {
      const bool vit = std::string(model).starts_with("vit");
      const Workload graph = workload_from_graph(record_step(model, precision, "adam", 4),
                                                 {model, precision, "adam", 4, 150528});
      const Workload analytic = describe_architecture({model, 4, precision, "adam", 0});
      const auto ratio = [&](double a, double b) { return a / b; };
      EXPECT_NEAR(ratio(graph.parameters, analytic.parameters), 1, 0.002) << model;
      EXPECT_NEAR(ratio(graph.flops(), analytic.flops()), 1, 0.03) << model;
      EXPECT_NEAR(ratio(graph.gradient_bytes, analytic.gradient_bytes), 1, 0.002) << model;
      EXPECT_NEAR(ratio(graph.state_bytes, analytic.state_bytes), 1, 0.002) << model;
      EXPECT_NEAR(
          ratio(bytes(graph, OpClass::kNormalization), bytes(analytic, OpClass::kNormalization)), 1,
          0.2)
          << model;
      const OpClass products = vit ? OpClass::kMatmul : OpClass::kConvolution;
      EXPECT_NEAR(ratio(bytes(graph, products), bytes(analytic, products)), 1, 0.05) << model;
      EXPECT_NEAR(ratio(graph.activation_bytes, analytic.activation_bytes), 1, vit ? 0.35 : 0.9)
          << model;
      EXPECT_LT(graph.recompute_bytes, graph.activation_bytes) << model;
    }
}

TEST(WorkloadFromGraph, PredictsLikeTheAnalyticDescription) {
  const Predictor predictor = Predictor::load(data_dir());
  for (const char* model : {"vit_base_patch16_224", "resnet50"}) {
    const Workload graph = workload_from_graph(record_step(model, "bf16", "adam", 16),
                                               {model, "bf16", "adam", 16, 150528});
    const Workload analytic = describe_architecture({model, 16, "bf16", "adam", 0});
    for (const char* machine : {"g5.xlarge", "p4d.24xlarge", "c7i.8xlarge"}) {
      const Instance& instance = predictor.catalogue().instance(machine);
      EXPECT_NEAR(predictor.predict(instance, graph, {}).seconds /
                      predictor.predict(instance, analytic, {}).seconds,
                  1, 0.15)
          << model << " on " << machine;
    }
  }
}

TEST(WorkloadFromGraph, AGraphWithoutALossIsRefused) {
  const Tensor x = make_input({DType::kF32, {2}});
  EXPECT_THAT([&] { workload_from_graph(build_graph({x}, {x + x}), {}); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("no training step")));
}

}  // namespace
}  // namespace centavo::fleet
