// Fused graphs against the double-precision oracle: random programs of odd shapes, every level of
// instructions, one and two threads, into poisoned memory.
#include "centavo/backend/cpu/fuse.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

#include "centavo/backend/backend.h"
#include "centavo/backend/cpu/kernel.h"
#include "centavo/backend/reference/reference_backend.h"
#include "centavo/base/philox.h"
#include "centavo/ops/ops.h"
#include "centavo/ops/registry.h"
#include "centavo/passes/passes.h"

namespace centavo::cpu {
namespace {

constexpr CpuLevel kLevels[] = {CpuLevel::kBaseline, CpuLevel::kAvx2, CpuLevel::kAvx512,
                                CpuLevel::kAvx512Bf16};

using Bytes = std::vector<std::byte>;

Bytes to_bytes(const Array& array) {
  Bytes bytes(static_cast<size_t>(array.type.bytes()));
  array.to_bytes(bytes.data());
  return bytes;
}

// Runs a graph node by node, fusions with the instructions of one level.
std::vector<Array> run_nodes(const Graph& graph, const std::vector<Array>& inputs, int threads,
                             CpuLevel level) {
  std::vector<std::vector<Bytes>> values(graph.nodes.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    values[static_cast<size_t>(graph.inputs[i].node()->id)] = {to_bytes(inputs[i])};
  for (const auto& node : graph.nodes) {
    if (node->op == &op_input) continue;
    std::vector<Bytes>& results = values[static_cast<size_t>(node->id)];
    for (const TensorType& type : node->types)
      results.emplace_back(static_cast<size_t>(type.bytes()), std::byte{0xff});
    std::vector<const std::byte*> from;
    std::vector<Array> arrays;
    for (const Tensor& input : node->inputs) {
      const Bytes& bytes =
          values[static_cast<size_t>(input.node()->id)][static_cast<size_t>(input.output())];
      from.push_back(bytes.data());
      arrays.push_back(Array::from_bytes(input.type(), bytes.data()));
    }
    if (node->op == &op_fusion) {
      std::vector<std::byte*> to;
      for (Bytes& result : results) to.push_back(result.data());
      find_kernel(op_fusion)(*node, {.threads = threads, .level = level})({from, to});
    } else {
      std::vector<Array> made = node->op->eval(arrays, *node);
      for (size_t o = 0; o < made.size(); ++o) made[o].to_bytes(results[o].data());
    }
  }
  std::vector<Array> outputs;
  for (const Tensor& t : graph.outputs) {
    const Bytes& bytes = values[static_cast<size_t>(t.node()->id)][static_cast<size_t>(t.output())];
    outputs.push_back(Array::from_bytes(t.type(), bytes.data()));
  }
  return outputs;
}

std::vector<Array> run_planned(const Graph& graph, const std::vector<Array>& inputs, int threads) {
  Device device = open_device("cpu", {.threads = threads});
  std::unique_ptr<Executable> executable = device->compile(graph);
  std::vector<BufferPtr> buffers;
  for (const Array& input : inputs)
    buffers.push_back(device->upload(input.type, to_bytes(input).data()));
  std::vector<Array> outputs;
  for (const BufferPtr& buffer : executable->run(buffers)) {
    Bytes bytes(static_cast<size_t>(buffer->type().bytes()));
    buffer->read(bytes.data());
    outputs.push_back(Array::from_bytes(buffer->type(), bytes.data()));
  }
  return outputs;
}

void expect_close(const std::vector<Array>& expected, const std::vector<Array>& actual,
                  double tolerance) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t o = 0; o < expected.size(); ++o) {
    ASSERT_EQ(expected[o].type, actual[o].type);
    double scale = 0.05, worst = 0;
    for (int64_t i = 0; i < expected[o].size(); ++i)
      scale = std::max(scale, std::abs(expected[o].number(i)));
    int64_t at = 0;
    for (int64_t i = 0; i < expected[o].size(); ++i) {
      double d = std::abs(expected[o].number(i) - actual[o].number(i)) / scale;
      if (std::isnan(d)) d = std::numeric_limits<double>::infinity();
      if (d > worst) worst = d, at = i;
    }
    const bool rounded = expected[o].type.dtype == DType::kBF16;
    const double allowed = expected[o].floating() ? tolerance + (rounded ? 0x1p-8 : 0) : 0;
    EXPECT_LE(worst, allowed) << "output " << o << " " << to_string(expected[o].type) << " at "
                              << at << ": " << expected[o].number(at) << " became "
                              << actual[o].number(at);
  }
}

Array random_array(const TensorType& type, Philox& rng) {
  Array array(type);
  for (int64_t i = 0; i < array.size(); ++i) {
    if (array.floating())
      array.set(i, rng.next_uniform() * 4 - 2);
    else
      array.set(i, static_cast<double>(rng.next_below(type.dtype == DType::kBool ? 2 : 20)));
  }
  Bytes bytes = to_bytes(array);
  return Array::from_bytes(type, bytes.data());
}

// A random program over values of a few related shapes. Values stay of order one and no comparison
// depends on a rounded number, so that fp32 and double agree.
class Program {
 public:
  explicit Program(uint64_t seed) : rng_(seed, 7) {
    constexpr int64_t kExtents[] = {1, 2, 3, 5, 8, 17, 33, 64, 197, 400, 1000, 5000};
    do {
      auto extent = [&] { return kExtents[rng_.next_below(std::size(kExtents))]; };
      shape_ = Shape{extent(), extent(), extent()};
    } while (shape_.elements() > 60'000);
    const int64_t a = shape_[0], b = shape_[1], c = shape_[2];
    for (const Shape& shape :
         {shape_, shape_, Shape{c}, Shape{a, b}, Shape{b, 1}, Shape{a, 1, c}, Shape{}, Shape{1}}) {
      for (DType dtype : {DType::kF32, DType::kBF16, DType::kI32, DType::kBool, DType::kU8}) {
        if (dtype != DType::kF32 && rng_.next_below(2) == 0) continue;
        inputs_.push_back(make_input({dtype, shape}));
        arrays_.push_back(random_array(inputs_.back().type(), rng_));
        if (dtype == DType::kF32) floats_.push_back(inputs_.back());
        if (dtype == DType::kBF16) floats_.push_back(convert(inputs_.back(), DType::kF32));
        if (dtype == DType::kU8) floats_.push_back(convert(inputs_.back(), DType::kF32) * 0.1);
        if (dtype == DType::kI32) whole_.push_back(inputs_.back());
        if (dtype == DType::kBool) conditions_.push_back(inputs_.back());
      }
    }
    whole_.push_back(iota({DType::kI32, shape_}, static_cast<int>(rng_.next_below(3))));
    key_ = make_input({DType::kU32, {2}});
    inputs_.push_back(key_);
    arrays_.push_back(random_array(key_.type(), rng_));
    const int steps = 4 + static_cast<int>(rng_.next_below(24));
    for (int i = 0; i < steps; ++i) step();
    for (int i = 0; i < 4; ++i) outputs_.push_back(pick(floats_));
    outputs_.push_back(floats_.back());
    outputs_.push_back(convert(floats_.back(), DType::kBF16));
    outputs_.push_back(pick(whole_));
    if (!conditions_.empty()) outputs_.push_back(pick(conditions_));
  }

  Graph graph() const { return build_graph(inputs_, outputs_); }
  const std::vector<Array>& arrays() const { return arrays_; }

 private:
  const Tensor& pick(const std::vector<Tensor>& choices) {
    return choices[rng_.next_below(choices.size())];
  }
  Tensor pick_float() { return pick(floats_); }

  Tensor unary(const Tensor& x) {
    switch (rng_.next_below(16)) {
      case 0:
        return tanh(x);
      case 1:
        return exp(negate(abs(x)));
      case 2:
        return gelu(x * 0.5);
      case 3:
        return sqrt(abs(x) + 0.5);
      case 4:
        return log(abs(x) + 1.0);
      case 5:
        return sigmoid(x);
      case 6:
        return erf(x);
      case 7:
        return sin(x) + cos(x * 0.3);
      case 8:
        return rsqrt(x * x + 0.5);
      case 9:
        return relu(x);
      case 10:
        return convert(convert(convert(x, DType::kF32) * 64.0, DType::kF32), DType::kF32) * 0.01;
      case 11:
        return power(abs(x) + 0.5, full_like(x, 1.5));
      case 12:
        return reshape(x, {x.shape().elements()});
      case 13:
        return 1.0 - x * 0.7;
      case 14:
        return x / (abs(x) + 1.0);
      default:
        return x * 0.25 + 1.0;
    }
  }

  // x and y in one shape, the larger one's dimensions if they fit.
  std::optional<std::pair<Tensor, Tensor>> matched(Tensor x, Tensor y) {
    if (x.shape().elements() == y.shape().elements() && x.rank() != y.rank())
      y = reshape(y, x.shape().dims());
    for (int i = 1; i <= std::min(x.rank(), y.rank()); ++i) {
      if (x.dim(-i) != y.dim(-i) && x.dim(-i) != 1 && y.dim(-i) != 1) return {};
    }
    Shape shape = broadcast_shapes(x.shape(), y.shape(), "test", Loc::current());
    if (shape.elements() > 60'000) return {};
    return std::pair(x, y);
  }

  std::optional<Tensor> binary() {
    auto both = matched(pick_float(), pick_float());
    if (!both) return {};
    auto [x, y] = *both;
    switch (rng_.next_below(8)) {
      case 0:
        return (x + y) * 0.5;
      case 1:
        return x * tanh(y);
      case 2:
        return x - y * 0.5;
      case 3:
        return x / (y * y + 1.0);
      case 4:
        return maximum(x, y);
      case 5:
        return minimum(x, y);
      case 6:
        return x * 0.5 + tanh(x) * tanh(y);
      default: {
        Shape shape = broadcast_shapes(x.shape(), y.shape(), "test", Loc::current());
        return select(condition(shape), broadcast_to(x, shape), broadcast_to(y, shape));
      }
    }
  }

  Tensor condition(const Shape& shape) {
    for (int tries = 0; tries < 5; ++tries) {
      Tensor w = pick(whole_);
      if (w.shape() == shape) return compare(w, full_like(w, 7), Comparison::kLe);
    }
    Tensor bits = random_bits(key_, shape, static_cast<int64_t>(rng_.next_below(3)));
    return compare(bits, full_like(bits, 0x1p31), Comparison::kGe);
  }

  std::optional<Tensor> reduction() {
    Tensor x = pick_float();
    std::vector<int64_t> dims;
    for (int64_t d = 0; d < x.rank(); ++d) {
      if (rng_.next_below(2) == 0) dims.push_back(d);
    }
    if (dims.empty()) return {};
    const bool keep = rng_.next_below(2) == 0;
    switch (rng_.next_below(4)) {
      case 0:
        return max(x, dims, keep);
      case 1:
        return min(x, dims, keep);
      default:
        return mean(x, dims, keep);
    }
  }

  std::optional<Tensor> softmax_like() {
    Tensor x = pick_float();
    if (x.rank() == 0) return {};
    switch (rng_.next_below(3)) {
      case 0:
        return softmax(x) * static_cast<double>(x.dim(-1)) * 0.25;
      case 1:
        return x - mean(x, {-1}, true);
      default:
        return (x - mean(x, {-1}, true)) * rsqrt(mean(x * x, {-1}, true) + 0.5);
    }
  }

  // A product in fp32 or bf16, of factors that bf16 holds exactly when it is bf16. Often with a
  // bias and column sums.
  std::optional<Tensor> product() {
    constexpr int64_t kColumns[] = {1, 5, 16, 99, 200};
    const int64_t columns = kColumns[rng_.next_below(std::size(kColumns))];
    const bool small = rng_.next_below(2) == 0;
    Tensor x = pick_float();
    if (small) {
      auto fits = [](const Tensor& t) { return t.dtype() == DType::kBF16 && t.rank() > 1; };
      auto at = std::find_if(inputs_.begin(), inputs_.end(), fits);
      if (at == inputs_.end()) return {};
      x = *at;
    }
    if (x.rank() < 2) return {};
    const int64_t depth = x.dim(-1), rows = x.shape().elements() / depth;
    if (rows * columns > 60'000 || rows * columns * depth > 20'000'000) return {};
    const bool transposed = rng_.next_below(2) == 0;
    Tensor w =
        make_input({DType::kF32, transposed ? Shape{columns, depth} : Shape{depth, columns}});
    Array values = random_array({DType::kBF16, w.shape()}, rng_);
    values.type = w.type();
    inputs_.push_back(w);
    arrays_.push_back(values);
    DotDims dims{{}, {}, {x.rank() - 1}, {transposed ? 1 : 0}};
    Tensor y = small ? dot_general(x, convert(w, DType::kBF16), dims, DType::kF32)
                     : dot_general(x, w, dims);
    y = y * (1 / std::sqrt(static_cast<double>(depth)));
    if (rng_.next_below(2) == 0) {
      Tensor bias = make_input({DType::kF32, {columns}});
      inputs_.push_back(bias);
      arrays_.push_back(random_array(bias.type(), rng_));
      y = y + bias;
    }
    if (rng_.next_below(2) == 0) floats_.push_back(y);
    if (rng_.next_below(2) == 0) y = gelu(y);
    std::vector<int64_t> leading;
    for (int64_t d = 0; d + 1 < y.rank(); ++d) leading.push_back(d);
    if (rng_.next_below(2) == 0) floats_.push_back(mean(y, leading));
    return y;
  }

  std::optional<Tensor> moved() {
    Tensor x = pick_float();
    if (x.rank() < 2) return {};
    switch (rng_.next_below(4)) {
      case 0: {
        std::vector<int64_t> swap(static_cast<size_t>(x.rank()));
        for (size_t i = 0; i < swap.size(); ++i) swap[i] = static_cast<int64_t>(i);
        std::swap(swap[0], swap[rng_.next_below(swap.size())]);
        return transpose(x, swap);
      }
      case 1:
        return slice_axis(x, 0, 0, (x.dim(0) + 1) / 2);
      case 2:
        return broadcast_to(slice_axis(x, -1, x.dim(-1) - 1, x.dim(-1)), x.shape());
      default:
        return concatenate(
            {slice_axis(x, 0, x.dim(0) / 2, x.dim(0)), slice_axis(x, 0, 0, x.dim(0) / 2)}, 0);
    }
  }

  void integers() {
    Tensor w = pick(whole_);
    switch (rng_.next_below(5)) {
      case 0:
        return whole_.push_back(w * w - full_like(w, 3));
      case 1:
        return whole_.push_back(maximum(w, full_like(w, 4)));
      case 2:
        return whole_.push_back(w.rank() > 0 ? max(w, {0}) : w);
      case 3:
        return conditions_.push_back(
            compare(w, full_like(w, static_cast<double>(rng_.next_below(9))), Comparison::kGt));
      default:
        return floats_.push_back(tanh(convert(w, DType::kF32) * 0.05));
    }
  }

  void step() {
    std::optional<Tensor> made;
    switch (rng_.next_below(14)) {
      case 0:
      case 1:
      case 2:
        made = unary(pick_float());
        break;
      case 3:
      case 4:
      case 5:
      case 6:
        made = binary();
        break;
      case 7:
      case 8:
        made = reduction();
        break;
      case 9:
        made = softmax_like();
        break;
      case 10:
        made = moved();
        break;
      case 11:
      case 12:
        made = product();
        break;
      default:
        return integers();
    }
    if (made) floats_.push_back(*made);
  }

  Philox rng_;
  Shape shape_;
  std::vector<Tensor> inputs_, outputs_, floats_, whole_, conditions_;
  std::vector<Array> arrays_;
  Tensor key_;
};

// As the executable prepares graphs.
Graph prepared(const Graph& graph) {
  PipelineOptions options;
  options.has_kernel = [](const Node& node) { return node.op == &op_gelu; };
  options.backend_passes = {{"fuse", fuse}};
  return run_pipeline(graph, options);
}

class RandomPrograms : public testing::TestWithParam<int> {};

TEST_P(RandomPrograms, FusedEqualTheOracle) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    Program program(static_cast<uint64_t>(GetParam()) * 1000 + seed);
    Graph graph = program.graph(), fused = prepared(graph);
    SCOPED_TRACE(fmt::format("seed {}:\n{}", seed, to_string(graph)));
    std::vector<Array> expected = interpret(graph, program.arrays());
    for (CpuLevel level : kLevels) {
      if (level > supported_cpu_level()) continue;
      for (int threads : {1, 2}) {
        SCOPED_TRACE(fmt::format("{} with {} threads", name_of(level), threads));
        expect_close(expected, run_nodes(fused, program.arrays(), threads, level), 3e-5);
      }
    }
    expect_close(expected, run_planned(graph, program.arrays(), 2), 3e-5);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, testing::Range(0, 10));

}  // namespace
}  // namespace centavo::cpu
