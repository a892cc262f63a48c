// attention over packed query, key and value, and its gradient. The op also returns the log of each
// softmax's denominator, lse[B, H, T], from which the gradient recomputes the probabilities instead
// of storing them.
#include <cmath>

#include "centavo/ops/creation.h"
#include "centavo/ops/elementwise.h"
#include "centavo/ops/linear.h"
#include "centavo/ops/movement.h"
#include "centavo/ops/nn.h"
#include "centavo/ops/reduce.h"
#include "centavo/ops/registry.h"

namespace centavo {
namespace {

struct Sizes {
  int64_t batch, tokens, heads, width;  // width of one head
};

Sizes sizes_of(const Shape& qkv, const Attrs& attrs) {
  int64_t heads = attrs.integer("heads");
  return {qkv[0], qkv[1], heads, qkv[2] / (3 * heads)};
}

struct Parts {
  Tensor q, k, v;  // each [B, T, H, D], in the statistics dtype
};

Parts split(const Tensor& qkv, const Sizes& s) {
  Tensor five = reshape(convert(qkv, statistics_dtype(qkv.dtype())),
                        {s.batch, s.tokens, 3, s.heads, s.width});
  auto part = [&](int64_t i) {
    return reshape(slice_axis(five, 2, i, i + 1), {s.batch, s.tokens, s.heads, s.width});
  };
  return {part(0), part(1), part(2)};
}

// Scaled scores [B, H, T, T], minus infinity where a token may not look.
Tensor scores_of(const Parts& p, const Sizes& s, bool causal) {
  Tensor scores = dot_general(p.q, p.k, {{0, 2}, {0, 2}, {3}, {3}}) *
                  (1 / std::sqrt(static_cast<double>(s.width)));
  if (!causal) return scores;
  TensorType index{DType::kI32, scores.shape()};
  Tensor visible = compare(iota(index, 2), iota(index, 3), Comparison::kGe);
  return select(visible, scores, full_like(scores, -std::numeric_limits<double>::infinity()));
}

// [B, H, T] repeated along a fourth dimension.
Tensor along_keys(const Tensor& x, const Shape& shape) {
  return broadcast_in_dim(x, shape, {0, 1, 2});
}

// [B, H, T, D] -> [B, T, H * D]
Tensor merge_heads(const Tensor& x, const Sizes& s) {
  return reshape(transpose(x, {0, 2, 1, 3}), {s.batch, s.tokens, s.heads * s.width});
}

std::vector<TensorType> infer(const InferArgs& args) {
  args.expect_inputs(1);
  int64_t heads = args.attrs.integer("heads");
  const Shape& shape = args.shape(0);
  if (!is_floating(args.dtype(0)) || shape.rank() != 3 || heads < 1 ||
      shape[2] % (3 * heads) != 0) {
    args.fail("expects qkv[B, T, 3*H*D] with H={} heads, got {}", heads, to_string(args.type(0)));
  }
  return {{args.dtype(0), {shape[0], shape[1], shape[2] / 3}},
          {statistics_dtype(args.dtype(0)), {shape[0], heads, shape[1]}}};
}

std::vector<Tensor> decompose(std::span<const Tensor> in, const Attrs& attrs) {
  Sizes s = sizes_of(in[0].shape(), attrs);
  Parts p = split(in[0], s);
  Tensor scores = scores_of(p, s, attrs.flag("causal"));
  Tensor top = max(scores, {-1});
  Tensor lse = log(sum(exp(scores - along_keys(top, scores.shape())), {-1})) + top;
  Tensor probabilities = exp(scores - along_keys(lse, scores.shape()));
  Tensor out = dot_general(probabilities, p.v, {{0, 1}, {0, 2}, {3}, {1}});
  return {convert(merge_heads(out, s), in[0].dtype()), lse};
}

// (qkv, out, lse, d_out) -> d_qkv
std::vector<Tensor> decompose_grad(std::span<const Tensor> in, const Attrs& attrs) {
  Sizes s = sizes_of(in[0].shape(), attrs);
  Parts p = split(in[0], s);
  DType stat = p.q.dtype();
  std::vector<int64_t> four = {s.batch, s.tokens, s.heads, s.width};
  Tensor out = reshape(convert(in[1], stat), four), d_out = reshape(convert(in[3], stat), four);
  Tensor scores = scores_of(p, s, attrs.flag("causal"));
  Tensor probabilities = exp(scores - along_keys(in[2], scores.shape()));
  Tensor d_probabilities = dot_general(d_out, p.v, {{0, 2}, {0, 2}, {3}, {3}});
  Tensor row_sums = transpose(sum(out * d_out, {-1}), {0, 2, 1});
  Tensor d_scores = probabilities * (d_probabilities - along_keys(row_sums, scores.shape())) *
                    (1 / std::sqrt(static_cast<double>(s.width)));
  Tensor dq = dot_general(d_scores, p.k, {{0, 1}, {0, 2}, {3}, {1}});
  Tensor dk = dot_general(d_scores, p.q, {{0, 1}, {0, 2}, {2}, {1}});
  Tensor dv = dot_general(probabilities, d_out, {{0, 1}, {0, 2}, {2}, {1}});
  return {convert(concatenate({merge_heads(dq, s), merge_heads(dk, s), merge_heads(dv, s)}, 2),
                  in[0].dtype())};
}

// Products only, each 2*B*H*T*T*D; `products` of them.
Cost cost(const Node& node, double products) {
  Sizes s = sizes_of(node.inputs[0].shape(), node.attrs);
  double flops = products * 2 * static_cast<double>(s.batch * s.heads * s.tokens) *
                 static_cast<double>(s.tokens * s.width);
  double bytes = static_cast<double>(node.types[0].bytes());
  for (const Tensor& input : node.inputs) bytes += static_cast<double>(input.type().bytes());
  return {flops, bytes};
}

// With bf16, kernels may round the probabilities to bf16 before their product.
double tolerance_of(DType d) {
  return d == DType::kBF16 ? 0x1p-9 : 2e-5;
}

template <class Add>
void for_shapes(Add add) {
  for (DType d : {DType::kF32, DType::kBF16}) {
    for (bool causal : {false, true}) {
      add(d, causal, 2, 17, 3, 16);
      add(d, causal, 1, 1, 1, 3);
      add(d, causal, 1, 50, 2, 64);
    }
  }
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for_shapes([&](DType d, bool causal, int64_t b, int64_t t, int64_t h, int64_t w) {
    list.push_back({fmt::format("{}_t{}_h{}_d{}{}", name_of(d), t, h, w, causal ? "_causal" : ""),
                    {{{d, {b, t, 3 * h * w}}, -1.5, 1.5}},
                    Attrs().set("heads", h).set("causal", causal),
                    tolerance_of(d)});
  });
  return list;
}

std::vector<Case> grad_cases() {
  std::vector<Case> list;
  for_shapes([&](DType d, bool causal, int64_t b, int64_t t, int64_t h, int64_t w) {
    double lse = std::log(static_cast<double>(t));
    list.push_back({fmt::format("{}_t{}_h{}_d{}{}", name_of(d), t, h, w, causal ? "_causal" : ""),
                    {{{d, {b, t, 3 * h * w}}, -0.7, 0.7},
                     {{d, {b, t, h * w}}},
                     {{DType::kF32, {b, h, t}}, lse, lse + 0.5},
                     {{d, {b, t, h * w}}}},
                    Attrs().set("heads", h).set("causal", causal),
                    tolerance_of(d),
                    false});
  });
  return list;
}

}  // namespace

const Op op_attention = {
    .name = "attention",
    .infer = infer,
    .vjp = [](const VjpArgs& a) -> std::vector<Tensor> {
      CENTAVO_CHECK(!a.grads[1].defined(), "attention's lse has no gradient");
      return record(op_attention_grad, {a.inputs[0], a.outputs[0], a.outputs[1], a.grads[0]},
                    a.attrs);
    },
    .decompose = decompose,
    .cost = [](const Node& node) { return cost(node, 2); },
    .cases = cases,
};

const Op op_attention_grad = {
    .name = "attention_grad",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(4);
      return {args.type(0)};
    },
    .decompose = decompose_grad,
    .cost = [](const Node& node) { return cost(node, 5); },
    .cases = grad_cases,
};

Tensor attention(const Tensor& qkv, int64_t heads, bool causal, const Loc& loc) {
  return record(op_attention, {qkv}, Attrs().set("heads", heads).set("causal", causal), loc)[0];
}

}  // namespace centavo
