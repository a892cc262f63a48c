// gelu and its gradient, softmax, and stop_gradient.
#include <cmath>
#include <numbers>

#include "centavo/ops/elementwise.h"
#include "centavo/ops/nn.h"
#include "centavo/ops/reduce.h"
#include "centavo/ops/registry.h"

namespace centavo {
namespace {

std::vector<TensorType> infer_floating(const InferArgs& args) {
  args.expect_inputs(1);
  if (!is_floating(args.dtype(0)))
    args.fail("expects a floating dtype, got {}", to_string(args.type(0)));
  return {args.type(0)};
}

// The normal distribution's cumulative distribution function.
Tensor phi(const Tensor& x) {
  return 0.5 * (1.0 + erf(x * std::numbers::sqrt2 / 2));
}

std::vector<Case> shapes(double low, double high, size_t inputs) {
  std::vector<Case> list;
  for (DType d : {DType::kF32, DType::kBF16}) {
    for (Shape shape : {Shape{3, 17}, Shape{1000}, Shape{2, 5, 197}}) {
      list.push_back({to_string(TensorType{d, shape}),
                      std::vector<CaseInput>(inputs, {{d, shape}, low, high})});
    }
  }
  return list;
}

}  // namespace

DType statistics_dtype(DType d) {
  return d == DType::kF64 ? DType::kF64 : DType::kF32;
}

const Op op_gelu = {
    .name = "gelu",
    .infer = infer_floating,
    .vjp = [](const VjpArgs& a) -> std::vector<Tensor> {
      return {record1(op_gelu_grad, {a.inputs[0], a.grads[0]})};
    },
    .decompose = [](std::span<const Tensor> in, const Attrs&) -> std::vector<Tensor> {
      Tensor x = convert(in[0], statistics_dtype(in[0].dtype()));
      return {convert(x * phi(x), in[0].dtype())};
    },
    .cases = []() { return shapes(-5, 5, 1); },
    .elementwise = true,
};

// (x, dy) -> dy * (Phi(x) + x * Phi'(x))
const Op op_gelu_grad = {
    .name = "gelu_grad",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(2);
      if (args.type(0) != args.type(1))
        args.fail("{} and {} differ", to_string(args.type(0)), to_string(args.type(1)));
      return {args.type(0)};
    },
    .decompose = [](std::span<const Tensor> in, const Attrs&) -> std::vector<Tensor> {
      Tensor x = convert(in[0], statistics_dtype(in[0].dtype()));
      Tensor density = exp(x * x * -0.5) * (std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2);
      return {convert(convert(in[1], x.dtype()) * (phi(x) + x * density), in[0].dtype())};
    },
    .cases =
        []() {
          std::vector<Case> list = shapes(-5, 5, 2);
          for (Case& c : list) c.gradient = false;
          return list;
        },
    .elementwise = true,
};

const Op op_softmax = {
    .name = "softmax",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      if (args.shape(0).rank() < 1)
        args.fail("expects at least one dimension, got {}", to_string(args.type(0)));
      return infer_floating(args);
    },
    .vjp = [](const VjpArgs& a) -> std::vector<Tensor> {
      DType stat = statistics_dtype(a.inputs[0].dtype());
      Tensor y = convert(a.outputs[0], stat), g = convert(a.grads[0], stat);
      return {convert(y * (g - sum(y * g, {-1}, true)), a.inputs[0].dtype())};
    },
    .decompose = [](std::span<const Tensor> in, const Attrs&) -> std::vector<Tensor> {
      Tensor x = convert(in[0], statistics_dtype(in[0].dtype()));
      Tensor e = exp(x - max(x, {-1}, true));
      return {convert(e / sum(e, {-1}, true), in[0].dtype())};
    },
    .cases = []() { return shapes(-6, 6, 1); },
};

const Op op_stop_gradient = {
    .name = "stop_gradient",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(1);
      return {args.type(0)};
    },
    .vjp = [](const VjpArgs&) -> std::vector<Tensor> { return {Tensor()}; },
    .decompose = [](std::span<const Tensor> in, const Attrs&) -> std::vector<Tensor> {
      return {in[0]};
    },
    .cases = []() -> std::vector<Case> {
      return {{"f32", {{{DType::kF32, {3, 5}}, -1, 1, false}}, {}, 0, false}};
    },
    .elementwise = true,
};

Tensor gelu(const Tensor& x, const Loc& loc) {
  return record1(op_gelu, {x}, {}, loc);
}
Tensor softmax(const Tensor& x, const Loc& loc) {
  return record1(op_softmax, {x}, {}, loc);
}
Tensor stop_gradient(const Tensor& x, const Loc& loc) {
  return record1(op_stop_gradient, {x}, {}, loc);
}

}  // namespace centavo
