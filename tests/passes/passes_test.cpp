// Passes: each rule does what it says, and the whole pipeline keeps values on random programs.
#include "centavo/passes/passes.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "centavo/autodiff/grad.h"
#include "centavo/backend/reference/reference_backend.h"
#include "centavo/base/philox.h"
#include "centavo/ops/ops.h"
#include "centavo/ops/registry.h"
#include "centavo/plan/plan.h"

namespace centavo {
namespace {

int count(const Graph& graph, const Op& op) {
  return static_cast<int>(std::count_if(graph.nodes.begin(), graph.nodes.end(),
                                        [&](const auto& n) { return n->op == &op; }));
}

Tensor input(Shape shape, DType dtype = DType::kF32) {
  return make_input({dtype, std::move(shape)});
}

Array random_array(const TensorType& type, uint64_t seed) {
  Array array(type);
  Philox rng(seed);
  for (int64_t i = 0; i < array.size(); ++i) array.set(i, rng.next_uniform() * 2 - 1);
  return array;
}

void expect_same_values(const Graph& a, const Graph& b) {
  std::vector<Array> inputs;
  for (size_t i = 0; i < a.inputs.size(); ++i)
    inputs.push_back(random_array(a.inputs[i].type(), 100 + i));
  std::vector<Array> x = interpret(a, inputs), y = interpret(b, inputs);
  ASSERT_EQ(x.size(), y.size());
  for (size_t o = 0; o < x.size(); ++o) {
    ASSERT_EQ(x[o].type, y[o].type);
    for (int64_t i = 0; i < x[o].size(); ++i) EXPECT_NEAR(x[o].number(i), y[o].number(i), 1e-9);
  }
}

TEST(Simplify, RemovesIdentities) {
  Tensor x = input({3, 5});
  Graph g = build_graph({x}, {(x + 0.0) * 1.0 * 2.0 * 3.0});
  Graph s = simplify(g);
  EXPECT_EQ(count(s, op_multiply), 1);
  EXPECT_EQ(count(s, op_add), 0);
  expect_same_values(g, s);
}

TEST(Simplify, WeightGradientsNeedNoTranspose) {
  Tensor x = input({2, 7, 5}), w = input({4, 5}), y = linear(x, w, {});
  Graph g = build_graph({x, w}, grad(sum(y * y), {x, w}));
  Graph s = simplify(g);
  EXPECT_EQ(count(s, op_transpose), 0) << to_string(s);
  expect_same_values(g, s);
}

TEST(Simplify, FoldsTransposesIntoProducts) {
  Tensor a = input({5, 3}), b = input({7, 5});
  Graph g =
      build_graph({a, b}, {transpose(matmul(transpose(a, {1, 0}), transpose(b, {1, 0})), {1, 0})});
  Graph s = simplify(g);
  EXPECT_EQ(count(s, op_transpose), 0);
  expect_same_values(g, s);
}

TEST(Simplify, KeepsRoundingConverts) {
  Tensor x = input({3});
  Graph s = simplify(build_graph({x}, {convert(convert(x, DType::kBF16), DType::kF32)}));
  EXPECT_EQ(count(s, op_convert), 2);
  Tensor b = input({3}, DType::kBF16);
  EXPECT_EQ(count(simplify(build_graph({b}, {convert(convert(b, DType::kF32), DType::kBF16)})),
                  op_convert),
            0);
}

TEST(Cse, MergesEqualExpressions) {
  Tensor x = input({3});
  Graph g = build_graph({x}, {exp(x) + exp(x), exp(x)});
  EXPECT_EQ(count(eliminate_common_subexpressions(g), op_exponential), 1);
}

TEST(Schedule, UpdatesRunAsSoonAsTheirGradientIsThere) {
  std::vector<Tensor> w = {input({8, 8}), input({8, 8}), input({8, 8})};
  Tensor x = input({4, 8});
  Tensor h = x;
  for (const Tensor& weight : w) h = tanh(linear(h, weight, {}));
  Tensor loss = sum(h);
  std::vector<Tensor> grads = grad(loss, w), outputs = {loss};
  for (size_t i = 0; i < w.size(); ++i) outputs.push_back(w[i] - grads[i] * 0.1);
  Graph g = build_graph({w[0], w[1], w[2], x}, outputs);
  for (int i = 0; i < 3; ++i) g.aliases[static_cast<size_t>(i) + 1] = i;
  Graph s = schedule(g);
  verify(s, "schedule");
  expect_same_values(g, s);
  // The last weight's update comes before the first weight's gradient is even begun.
  EXPECT_LT(s.outputs[3].node()->id, s.outputs[1].node()->inputs[1].node()->id);
  MemoryPlan plan = plan_memory(s, [](const Node& node, int, int) { return node.op->elementwise; });
  EXPECT_TRUE(plan.copies.empty());
}

TEST(Rematerialize, MakesActivationsAgainInTheBackwardPass) {
  Tensor x = input({64, 32});
  std::vector<Tensor> w;
  Tensor h = x;
  for (int i = 0; i < 4; ++i) {
    w.push_back(input({32, 32}));
    h = gelu(linear(h, w.back(), {}));
  }
  std::vector<Tensor> inputs = w;
  inputs.push_back(x);
  Graph g = build_graph(inputs, grad(sum(h * h), w));
  Graph r = rematerialize(g, 1);
  verify(r, "rematerialize");
  expect_same_values(g, r);
  EXPECT_GT(count(r, op_gelu), count(g, op_gelu));
  auto never = [](const Node&, int, int) { return false; };
  EXPECT_LT(plan_memory(schedule(r), never).arena_bytes,
            plan_memory(schedule(g), never).arena_bytes);
}

// Random programs over a few shapes: the pipeline's result equals the recorded program's.
TEST(Pipeline, KeepsValuesOfRandomPrograms) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Philox rng(seed);
    std::vector<Tensor> inputs = {input({4, 6}), input({4, 6}), input({6}), input({6, 6})};
    std::vector<Tensor> values = {inputs[0], inputs[1]};
    auto pick = [&] { return values[rng.next_below(values.size())]; };
    for (int i = 0; i < 12; ++i) {
      switch (rng.next_below(9)) {
        case 0:
          values.push_back(pick() + pick());
          break;
        case 1:
          values.push_back(pick() * pick());
          break;
        case 2:
          values.push_back(gelu(pick()));
          break;
        case 3:
          values.push_back(softmax(pick()));
          break;
        case 4:
          values.push_back(layer_norm(pick(), inputs[2], inputs[2], 1e-5));
          break;
        case 5:
          values.push_back(tanh(linear(pick(), inputs[3], inputs[2])));
          break;
        case 6:
          values.push_back(transpose(reshape(transpose(pick(), {1, 0}), {4, 6}), {0, 1}));
          break;
        case 7:
          values.push_back(pick() - mean(pick(), {1}, true));
          break;
        default:
          values.push_back(
              concatenate({slice_axis(pick(), 0, 2, 4), slice_axis(pick(), 0, 0, 2)}, 0));
          break;
      }
    }
    Tensor loss = mean(values.back() * pick());
    std::vector<Tensor> outputs = grad(loss, inputs);
    outputs.push_back(loss);
    Graph g = build_graph(inputs, outputs);
    SCOPED_TRACE(seed);
    expect_same_values(g, run_pipeline(g, {.has_kernel = [](const Node&) { return false; }}));
  }
}

}  // namespace
}  // namespace centavo
