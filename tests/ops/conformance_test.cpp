// One loop over ops x cases x backends: values against the double-precision oracle, fused and
// planned as a user would run them, and gradients against central differences. An op without cases
// fails by name.
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

#include "case_inputs.h"

#include "centavo/autodiff/grad.h"
#include "centavo/backend/backend.h"
#include "centavo/backend/reference/reference_backend.h"
#include "centavo/ops/ops.h"
#include "centavo/ops/registry.h"

namespace centavo {
namespace {

Graph graph_of(const Op& op, const Case& c) {
  std::vector<Tensor> inputs;
  for (const CaseInput& input : c.inputs) inputs.push_back(make_input(input.type));
  return build_graph(inputs, record(op, inputs, c.attrs));
}

// Largest difference relative to the largest expected magnitude (at least 1e-3), infinite where
// only one side is finite.
double relative_difference(const Array& expected, const Array& actual) {
  double scale = 1e-3, worst = 0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    if (std::isfinite(expected.number(i))) scale = std::max(scale, std::abs(expected.number(i)));
  }
  for (int64_t i = 0; i < expected.size(); ++i) {
    double e = expected.number(i), a = actual.number(i);
    if (e == a || (std::isnan(e) && std::isnan(a))) continue;
    double d = std::abs(e - a) / scale;
    worst = std::max(worst, std::isnan(d) ? std::numeric_limits<double>::infinity() : d);
  }
  return worst;
}

std::vector<Array> run(const Graph& graph, const std::vector<Array>& inputs, Backend& device) {
  std::unique_ptr<Executable> executable = device.compile(graph);
  std::vector<BufferPtr> buffers;
  for (const Array& input : inputs) {
    std::vector<std::byte> bytes(static_cast<size_t>(input.type.bytes()));
    input.to_bytes(bytes.data());
    buffers.push_back(device.upload(input.type, bytes.data()));
  }
  std::vector<Array> outputs;
  for (const BufferPtr& buffer : executable->run(buffers)) {
    std::vector<std::byte> bytes(static_cast<size_t>(buffer->type().bytes()));
    buffer->read(bytes.data());
    outputs.push_back(Array::from_bytes(buffer->type(), bytes.data()));
  }
  return outputs;
}

class Conformance : public testing::TestWithParam<const Op*> {};

TEST_P(Conformance, CpuMatchesTheOracle) {
  const Op& op = *GetParam();
  uint64_t seed = 1;
  for (int threads : {1, 2}) {
    Device device = open_device("cpu", {.threads = threads});
    for (const Case& c : op.cases()) {
      SCOPED_TRACE(fmt::format("{} {} threads={}", op.name, c.label, threads));
      std::vector<Array> inputs = draw_inputs(c, seed++);
      Graph graph = graph_of(op, c);
      std::vector<Array> expected = interpret(graph, inputs), actual = run(graph, inputs, *device);
      ASSERT_EQ(expected.size(), actual.size());
      for (size_t o = 0; o < expected.size(); ++o) {
        double tolerance = c.tolerance;
        if (expected[o].type.dtype == DType::kBF16) tolerance += 0x1p-8;
        // Results in fp32 of products rounded to bf16 on the way carry that rounding.
        else if (!c.inputs.empty() && c.inputs[0].type.dtype == DType::kBF16)
          tolerance *= 2;
        EXPECT_LE(relative_difference(expected[o], actual[o]), tolerance) << "output " << o;
      }
    }
  }
}

// Central differences in double of sum(outputs * weights) against the op's gradient rule, both by
// the oracle.
TEST_P(Conformance, GradientMatchesDifferences) {
  const Op& op = *GetParam();
  if (!op.vjp) {
    for (const Case& c : op.cases())
      EXPECT_FALSE(c.gradient) << op.name << " claims a gradient for " << c.label;
    return;
  }
  uint64_t seed = 100;
  for (Case c : op.cases()) {
    if (!c.gradient) continue;
    SCOPED_TRACE(fmt::format("{} {}", op.name, c.label));
    for (CaseInput& input : c.inputs) {
      if (is_floating(input.type.dtype)) input.type.dtype = DType::kF64;
    }
    if (c.attrs.has("dtype") && is_floating(c.attrs.dtype("dtype")))
      c.attrs.set("dtype", DType::kF64);
    std::vector<Array> values = draw_inputs(c, seed++);
    std::vector<Tensor> inputs;
    for (const CaseInput& input : c.inputs) inputs.push_back(make_input(input.type));
    Tensor output = record(op, inputs, c.attrs)[0];
    if (!is_floating(output.dtype())) continue;
    Tensor weights = make_input(output.type());
    Tensor loss = sum(output * weights);
    std::vector<Tensor> wanted, arguments = inputs;
    arguments.push_back(weights);
    std::vector<size_t> which;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (is_floating(inputs[i].dtype()) && c.inputs[i].differentiate)
        wanted.push_back(inputs[i]), which.push_back(i);
    }
    Array weight_values(output.type());
    Philox rng(seed);
    for (double& w : weight_values.reals) w = rng.next_uniform() * 2 - 1;
    values.push_back(weight_values);
    Graph forward = build_graph(arguments, {loss}),
          backward = build_graph(arguments, grad(loss, wanted));
    std::vector<Array> gradients = interpret(backward, values);
    for (size_t w = 0; w < wanted.size(); ++w) {
      double scale = 1e-6;
      for (double g : gradients[w].reals) scale = std::max(scale, std::abs(g));
      const int64_t size = values[which[w]].size();
      for (int64_t probe = 0; probe < std::min<int64_t>(size, 8); ++probe) {
        auto i = static_cast<size_t>(rng.next_below(static_cast<uint64_t>(size)));
        constexpr double kStep = 1e-5;
        std::vector<Array> moved = values;
        moved[which[w]].reals[i] += kStep;
        double up = interpret(forward, moved)[0].reals[0];
        moved[which[w]].reals[i] -= 2 * kStep;
        double down = interpret(forward, moved)[0].reals[0];
        EXPECT_NEAR((up - down) / (2 * kStep), gradients[w].reals[i],
                    2e-6 * std::max(1.0, scale) + 1e-5 * scale)
            << "input " << which[w] << " element " << i;
      }
    }
  }
}

TEST_P(Conformance, HasCases) {
  const Op& op = *GetParam();
  ASSERT_NE(op.cases, nullptr) << op.name;
  EXPECT_TRUE(&op == &op_fusion || !op.cases().empty()) << op.name;
  EXPECT_TRUE(op.eval || op.decompose) << op.name;
  EXPECT_EQ(find_op(op.name), &op);
}

INSTANTIATE_TEST_SUITE_P(Ops, Conformance, testing::ValuesIn(all_ops().begin(), all_ops().end()),
                         [](const auto& test) { return std::string(test.param->name); });

}  // namespace
}  // namespace centavo
