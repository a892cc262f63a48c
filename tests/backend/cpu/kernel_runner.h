// Runs one op's CPU kernel by itself, at any level and thread count, on poisoned outputs between
// guards.
#pragma once

#include <cstring>
#include <deque>
#include <gtest/gtest.h>

#include "tests/ops/case_inputs.h"

#include "centavo/backend/cpu/host_buffer.h"
#include "centavo/backend/cpu/kernel.h"
#include "centavo/backend/reference/reference_backend.h"
#include "centavo/ir/graph.h"

namespace centavo::cpu {

inline std::vector<CpuLevel> all_levels() {
  std::vector<CpuLevel> levels;
  for (int l = 0; l <= static_cast<int>(supported_cpu_level()); ++l)
    levels.push_back(static_cast<CpuLevel>(l));
  return levels;
}

// A value's bytes with guards of NaNs (in f32 and bf16) on both sides.
class Guarded {
 public:
  explicit Guarded(int64_t bytes) : bytes_(bytes), storage_(bytes + 2 * kGuard) {
    std::memset(storage_.data(), 0xff, static_cast<size_t>(storage_.bytes()));
  }
  std::byte* data() { return storage_.data() + kGuard; }
  bool guards_hold() {
    auto untouched = [](std::byte b) { return b == std::byte{0xff}; };
    return std::all_of(storage_.data(), data(), untouched) &&
           std::all_of(data() + bytes_, storage_.data() + storage_.bytes(), untouched);
  }

 private:
  static constexpr int64_t kGuard = 64;
  int64_t bytes_;
  Storage storage_;
};

struct Outcome {
  std::vector<std::vector<std::byte>> bytes;  // of each output
  std::vector<Array> values;
};

// `over[o]` names the input whose memory output o takes; -1 for memory of its own.
inline Outcome run_kernel(const Op& op, const Case& what, const std::vector<Array>& values,
                          const KernelContext& context, std::vector<int> over = {}) {
  std::vector<Tensor> inputs;
  for (const CaseInput& input : what.inputs) inputs.push_back(make_input(input.type));
  const std::shared_ptr<Node> node = record(op, inputs, what.attrs)[0].node();
  const KernelMaker maker = find_kernel(op);
  const Kernel kernel = maker ? maker(*node, context) : Kernel();
  if (!kernel) {
    ADD_FAILURE() << op.name << " has no kernel for " << what.label;
    return {};
  }
  over.resize(node->types.size(), -1);
  std::deque<Guarded> in, out;
  for (const Array& value : values) {
    in.emplace_back(value.type.bytes());
    value.to_bytes(in.back().data());
  }
  for (const TensorType& type : node->types) out.emplace_back(type.bytes());
  KernelArgs args;
  std::vector<const std::byte*> from;
  std::vector<std::byte*> to;
  for (Guarded& g : in) from.push_back(g.data());
  for (size_t o = 0; o < out.size(); ++o)
    to.push_back(over[o] < 0 ? out[o].data() : in[static_cast<size_t>(over[o])].data());
  kernel({from, to});
  Outcome outcome;
  for (size_t o = 0; o < out.size(); ++o) {
    const auto size = static_cast<size_t>(node->types[o].bytes());
    outcome.bytes.emplace_back(to[o], to[o] + size);
    outcome.values.push_back(Array::from_bytes(node->types[o], to[o]));
    EXPECT_TRUE(out[o].guards_hold()) << "output " << o;
  }
  for (size_t i = 0; i < in.size(); ++i) {
    EXPECT_TRUE(in[i].guards_hold()) << "input " << i;
    if (std::find(over.begin(), over.end(), static_cast<int>(i)) != over.end()) continue;
    std::vector<std::byte> before(static_cast<size_t>(values[i].type.bytes()));
    values[i].to_bytes(before.data());
    EXPECT_TRUE(std::equal(before.begin(), before.end(), from[i])) << "input " << i << " changed";
  }
  return outcome;
}

// What the oracle makes of it.
inline std::vector<Array> expected_of(const Op& op, const Case& what,
                                      const std::vector<Array>& values) {
  std::vector<Tensor> inputs;
  for (const CaseInput& input : what.inputs) inputs.push_back(make_input(input.type));
  return interpret(build_graph(inputs, record(op, inputs, what.attrs)), values);
}

// Every element within `tolerance` of the largest expected magnitude (or of `least`), plus what
// rounding to bf16 does to itself.
inline void expect_close(const std::vector<Array>& expected, const std::vector<Array>& actual,
                         double tolerance, double least = 1e-30) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t o = 0; o < expected.size(); ++o) {
    double scale = least;
    for (int64_t i = 0; i < expected[o].size(); ++i) {
      if (std::isfinite(expected[o].number(i)))
        scale = std::max(scale, std::abs(expected[o].number(i)));
    }
    const double own = expected[o].type.dtype == DType::kBF16 ? 0x1p-8 : 0;
    for (int64_t i = 0; i < expected[o].size(); ++i) {
      const double e = expected[o].number(i), a = actual[o].number(i);
      if (e == a || (std::isnan(e) && std::isnan(a))) continue;
      ASSERT_LE(std::abs(e - a), tolerance * scale + own * std::abs(e))
          << "output " << o << " element " << i << ": " << a << ", expected " << e;
    }
  }
}

}  // namespace centavo::cpu
