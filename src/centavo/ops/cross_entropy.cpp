// cross_entropy over class labels, and its gradient. The op also returns each row's log-sum-exp for
// the gradient.
#include <limits>

#include "centavo/ops/creation.h"
#include "centavo/ops/elementwise.h"
#include "centavo/ops/movement.h"
#include "centavo/ops/nn.h"
#include "centavo/ops/reduce.h"
#include "centavo/ops/registry.h"

namespace centavo {
namespace {

Tensor along_rows(const Tensor& x, const Shape& shape) {
  return broadcast_in_dim(x, shape, {0});
}

// The target distribution [N, V].
Tensor target(const Tensor& labels, const TensorType& type, double smoothing) {
  Tensor hit = compare(along_rows(labels, type.shape), iota({labels.dtype(), type.shape}, 1),
                       Comparison::kEq);
  double rest = smoothing / static_cast<double>(type.shape[1]);
  return select(hit, full(type.shape, 1 - smoothing + rest, type.dtype),
                full(type.shape, rest, type.dtype));
}

// x where the label is a class, NaN elsewhere: a mistake in the data must not pass for a loss.
Tensor where_valid(const Tensor& labels, int64_t classes, const Tensor& x) {
  Tensor valid = logical_and(
      compare(labels, full_like(labels, 0), Comparison::kGe),
      compare(labels, full_like(labels, static_cast<double>(classes)), Comparison::kLt));
  return select(valid, x, full_like(x, std::numeric_limits<double>::quiet_NaN()));
}

std::vector<TensorType> infer(const InferArgs& args) {
  args.expect_inputs(2);
  if (args.shape(0).rank() != 2 || !is_floating(args.dtype(0)))
    args.fail("expects logits[N, V], got {}", to_string(args.type(0)));
  if (args.shape(1) != Shape{args.shape(0)[0]} || args.dtype(1) != DType::kI32) {
    args.fail("expects labels i32[{}], got {}", args.shape(0)[0], to_string(args.type(1)));
  }
  double smoothing = args.attrs.real("label_smoothing");
  if (smoothing < 0 || smoothing > 1) args.fail("label smoothing {} is outside [0, 1]", smoothing);
  TensorType row{statistics_dtype(args.dtype(0)), args.shape(1)};
  return {row, row};
}

std::vector<Tensor> decompose(std::span<const Tensor> in, const Attrs& attrs) {
  Tensor x = convert(in[0], statistics_dtype(in[0].dtype()));
  Tensor top = max(x, {1});
  Tensor lse = log(sum(exp(x - along_rows(top, x.shape())), {1})) + top;
  Tensor expected = sum(x * target(in[1], x.type(), attrs.real("label_smoothing")), {1});
  return {where_valid(in[1], x.dim(1), lse - expected), lse};
}

// (logits, labels, lse, d_loss[N]) -> d_logits
std::vector<Tensor> decompose_grad(std::span<const Tensor> in, const Attrs& attrs) {
  Tensor x = convert(in[0], statistics_dtype(in[0].dtype()));
  Tensor probability = exp(x - along_rows(in[2], x.shape()));
  Tensor d = (probability - target(in[1], x.type(), attrs.real("label_smoothing"))) *
             along_rows(where_valid(in[1], x.dim(1), in[3]), x.shape());
  return {convert(d, in[0].dtype())};
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (DType d : {DType::kF32, DType::kBF16}) {
    for (double smoothing : {0.0, 0.1}) {
      for (Shape x : {Shape{1, 2}, Shape{3, 17}, Shape{2, 197}, Shape{5, 1000}}) {
        list.push_back(
            {fmt::format("{}_{}", to_string(TensorType{d, x}), smoothing),
             {{{d, x}, -4, 4}, {{DType::kI32, {x[0]}}, 0, static_cast<double>(x[1]) - 1}},
             Attrs().set("label_smoothing", smoothing),
             1e-5,
             x[1] < 100});
      }
    }
  }
  return list;
}

}  // namespace

const Op op_cross_entropy = {
    .name = "cross_entropy",
    .infer = infer,
    .vjp = [](const VjpArgs& a) -> std::vector<Tensor> {
      CENTAVO_CHECK(!a.grads[1].defined(), "cross_entropy's lse has no gradient");
      return {record1(op_cross_entropy_grad, {a.inputs[0], a.inputs[1], a.outputs[1], a.grads[0]},
                      a.attrs),
              Tensor()};
    },
    .decompose = decompose,
    .cases = cases,
};

const Op op_cross_entropy_grad = {
    .name = "cross_entropy_grad",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(4);
      return {args.type(0)};
    },
    .decompose = decompose_grad,
    .cases = []() -> std::vector<Case> {
      std::vector<Case> list = cases();
      for (Case& c : list) {
        TensorType row{DType::kF32, {c.inputs[0].type.shape[0]}};
        c.inputs.push_back({row, 4, 9});
        c.inputs.push_back({row, -1, 1});
        c.gradient = false;
      }
      return list;
    },
};

Tensor cross_entropy(const Tensor& logits, const Tensor& labels, double label_smoothing,
                     const Loc& loc) {
  return record(op_cross_entropy, {logits, labels}, Attrs().set("label_smoothing", label_smoothing),
                loc)[0];
}

}  // namespace centavo
