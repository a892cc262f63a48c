// The rewrites behind legalize().
#include "centavo/stablehlo/legalize.h"

#include <array>

#include "centavo/ops/ops.h"
#include "centavo/ops/registry.h"
#include "centavo/passes/passes.h"

namespace centavo::stablehlo {
namespace {

using Tensors = std::vector<Tensor>;

Tensor polynomial(const Tensor& x, std::span<const double> coefficients) {
  Tensor y = full_like(x, coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;) y = y * x + coefficients[i];
  return y;
}

// erf(x) = x P(x^2) / Q(x^2), fitted by iteratively reweighted least squares on |x| <= 3.95. Beyond
// 3.92 erf is 1 to 3e-8, and its argument is clamped there.
Tensor erf_rational(const Tensor& x) {
  constexpr double kClamp = 3.92;
  constexpr std::array kP = {1.1283791692382859,     0.18516877628059014,    0.05427476544957944,
                             0.003843363148516164,   0.00037793807867635197, 4.6404751270911365e-06,
                             -1.2967251749597224e-08};
  constexpr std::array kQ = {1.0,
                             0.497434964583288,
                             0.11391091549595556,
                             0.015443708260870367,
                             0.0013040626589684195,
                             6.269288440202338e-05};
  Tensor wide = convert(x, statistics_dtype(x.dtype()));
  Tensor clamped = minimum(maximum(wide, full_like(wide, -kClamp)), full_like(wide, kClamp));
  Tensor square = clamped * clamped;
  return convert(clamped * polynomial(square, kP) / polynomial(square, kQ), x.dtype());
}

Tensor exclusive_or(const Tensor& a, const Tensor& b) {
  return record1(op_xor, {a, b});
}

struct Product {
  Tensor high, low;
};

// The 64-bit product of u32 x and a constant as two u32 words, from 16-bit halves.
Product wide_multiply(const Tensor& x, uint32_t factor) {
  auto word = [&](uint32_t value) { return full_like(x, value); };
  const Tensor mask = word(0xffff), sixteen = word(16);
  const Tensor factor_low = word(factor & 0xffff), factor_high = word(factor >> 16);
  Tensor low = logical_and(x, mask), high = shift_right(x, sixteen);
  Tensor middle = high * factor_low + shift_right(low * factor_low, sixteen);
  Tensor other = low * factor_high + logical_and(middle, mask);
  return {high * factor_high + shift_right(middle, sixteen) + shift_right(other, sixteen),
          x * word(factor)};
}

// Philox4x32-10 as in base/philox.h: words [n] of counters (i / 4, stream) under `key`.
Tensor philox_words(const Tensor& key, const Shape& shape, int64_t stream) {
  const int64_t blocks = (shape.elements() + 3) / 4;
  CENTAVO_CHECK(blocks <= int64_t{1} << 32, "rng_bit_generator: {} words", shape.elements());
  const TensorType counter{DType::kU32, {blocks}};
  auto word = [&](uint32_t value) { return full(counter.shape, value, DType::kU32); };
  auto key_word = [&](int64_t i) {
    return broadcast_in_dim(reshape(slice(key, {i}, {i + 1}), {}), counter.shape, {});
  };
  std::array<Tensor, 4> c = {iota(counter, 0), word(0), word(static_cast<uint32_t>(stream)),
                             word(static_cast<uint32_t>(static_cast<uint64_t>(stream) >> 32))};
  std::array<Tensor, 2> k = {key_word(0), key_word(1)};
  for (int round = 0; round < 10; ++round) {
    Product p0 = wide_multiply(c[0], 0xD2511F53u), p1 = wide_multiply(c[2], 0xCD9E8D57u);
    c = {exclusive_or(exclusive_or(p1.high, c[1]), k[0]), p1.low,
         exclusive_or(exclusive_or(p0.high, c[3]), k[1]), p0.low};
    k = {k[0] + word(0x9E3779B9u), k[1] + word(0xBB67AE85u)};
  }
  Tensors columns;
  for (const Tensor& lane : c) columns.push_back(reshape(lane, {blocks, 1}));
  Tensor words = reshape(concatenate(columns, 1), {4 * blocks});
  return reshape(slice(words, {0}, {shape.elements()}), shape.dims());
}

Tensors sum_in_fp32(const Node& node, const Tensors& inputs) {
  if (inputs[0].dtype() != DType::kBF16 || node.attrs.text("kind") != "add") return {};
  Tensor sum = record1(*node.op, {convert(inputs[0], DType::kF32)}, node.attrs);
  return {convert(sum, DType::kBF16)};
}

Tensors plain_all_reduce(const Node& node, const Tensors& inputs) {
  const int64_t ranks = node.attrs.integer("ranks");
  const double scale = node.attrs.real("scale");
  Tensors results;
  for (const Tensor& x : inputs) {
    Tensor sum = all_reduce({convert(x, statistics_dtype(x.dtype()))}, ranks, 1.0)[0];
    results.push_back(convert(scale == 1 ? sum : sum * scale, x.dtype()));
  }
  return results;
}

bool is_plain_all_reduce(const Node& node) {
  return node.inputs.size() == 1 && node.attrs.real("scale") == 1 &&
         node.inputs[0].dtype() != DType::kBF16;
}

Tensors replacement(const Node& node, const Tensors& inputs) {
  if (node.op == &op_erf) return {erf_rational(inputs[0])};
  if (node.op == &op_rng_bit_generator)
    return {philox_words(inputs[0], node.types[0].shape, node.attrs.integer("stream"))};
  if (node.op == &op_reduce || node.op == &op_reduce_window) return sum_in_fp32(node, inputs);
  if (node.op == &op_all_reduce && !is_plain_all_reduce(node))
    return plain_all_reduce(node, inputs);
  return {};
}

}  // namespace

Graph legalize(const Graph& graph) {
  Graph primitives = decompose(graph, [](const Node&) { return false; });
  return eliminate_dead_code(eliminate_common_subexpressions(rewrite(primitives, replacement)));
}

}  // namespace centavo::stablehlo
