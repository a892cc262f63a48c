// The unary elementwise primitives: one entry each, with its value in double and its gradient.
#include <cmath>
#include <numbers>

#include "centavo/ops/creation.h"
#include "centavo/ops/elementwise.h"
#include "centavo/ops/registry.h"

namespace centavo {
namespace {

std::vector<TensorType> infer_floating(const InferArgs& args) {
  args.expect_inputs(1);
  if (!is_floating(args.dtype(0)))
    args.fail("expects a floating dtype, got {}", to_string(args.type(0)));
  return {args.type(0)};
}

std::vector<TensorType> infer_signed(const InferArgs& args) {
  args.expect_inputs(1);
  if (args.dtype(0) == DType::kBool) args.fail("expects numbers, got {}", to_string(args.type(0)));
  return {args.type(0)};
}

template <double (*F)(double)>
std::vector<Array> eval(std::span<const Array> in, const Node&) {
  Array out(in[0].type);
  for (int64_t i = 0; i < out.size(); ++i) out.set(i, F(in[0].number(i)));
  return {out};
}

template <int64_t low_thousandths, int64_t high_thousandths>
std::vector<Case> cases() {
  constexpr double low = low_thousandths / 1000.0, high = high_thousandths / 1000.0;
  std::vector<Case> list;
  for (Shape shape : {Shape{}, Shape{1}, Shape{3, 17}, Shape{197, 5}}) {
    list.push_back({to_string(shape), {{{DType::kF32, shape}, low, high}}});
    list.push_back({"bf16" + to_string(shape), {{{DType::kBF16, shape}, low, high}}});
  }
  return list;
}

using Vjp = std::vector<Tensor> (*)(const VjpArgs&);
constexpr Vjp kNoGradient = [](const VjpArgs&) -> std::vector<Tensor> { return {Tensor()}; };

template <double (*F)(double), int64_t low, int64_t high>
constexpr Op floating(std::string_view name, Vjp vjp) {
  return {.name = name,
          .infer = infer_floating,
          .vjp = vjp,
          .eval = eval<F>,
          .cases = cases<low, high>,
          .elementwise = true};
}

double sign_of(double x) {
  return x > 0 ? 1 : x < 0 ? -1 : x;
}
double sigmoid_of(double x) {
  return 1 / (1 + std::exp(-x));
}
double rsqrt_of(double x) {
  return 1 / std::sqrt(x);
}
double negate_of(double x) {
  return -x;
}

}  // namespace

const Op op_abs = {
    .name = "abs",
    .infer = infer_signed,
    .vjp = [](const VjpArgs& a) -> std::vector<Tensor> { return {a.grads[0] * sign(a.inputs[0])}; },
    .eval = eval<std::fabs>,
    .cases = cases<100, 2000>,
    .elementwise = true};
const Op op_negate = {.name = "negate",
                      .infer = infer_signed,
                      .vjp = [](const VjpArgs& a) -> std::vector<Tensor> { return {-a.grads[0]}; },
                      .eval = eval<negate_of>,
                      .cases = cases<-2000, 2000>,
                      .elementwise = true};
const Op op_sign = floating<sign_of, 100, 2000>("sign", kNoGradient);
const Op op_ceil = floating<std::ceil, 100, 900>("ceil", kNoGradient);
const Op op_floor = floating<std::floor, 100, 900>("floor", kNoGradient);
const Op op_exponential = floating<std::exp, -4000, 4000>(
    "exponential",
    [](const VjpArgs& a) -> std::vector<Tensor> { return {a.grads[0] * a.outputs[0]}; });
const Op op_log = floating<std::log, 100, 9000>(
    "log", [](const VjpArgs& a) -> std::vector<Tensor> { return {a.grads[0] / a.inputs[0]}; });
const Op op_sqrt = floating<std::sqrt, 100, 9000>(
    "sqrt",
    [](const VjpArgs& a) -> std::vector<Tensor> { return {a.grads[0] * 0.5 / a.outputs[0]}; });
const Op op_rsqrt =
    floating<rsqrt_of, 100, 9000>("rsqrt", [](const VjpArgs& a) -> std::vector<Tensor> {
      return {a.grads[0] * -0.5 * a.outputs[0] / a.inputs[0]};
    });
const Op op_tanh =
    floating<std::tanh, -4000, 4000>("tanh", [](const VjpArgs& a) -> std::vector<Tensor> {
      return {a.grads[0] * (1.0 - a.outputs[0] * a.outputs[0])};
    });
const Op op_logistic =
    floating<sigmoid_of, -6000, 6000>("logistic", [](const VjpArgs& a) -> std::vector<Tensor> {
      return {a.grads[0] * a.outputs[0] * (1.0 - a.outputs[0])};
    });
const Op op_erf =
    floating<std::erf, -3000, 3000>("erf", [](const VjpArgs& a) -> std::vector<Tensor> {
      return {a.grads[0] * (2 / std::sqrt(std::numbers::pi)) * exp(-(a.inputs[0] * a.inputs[0]))};
    });
const Op op_sine = floating<std::sin, -6000, 6000>(
    "sine",
    [](const VjpArgs& a) -> std::vector<Tensor> { return {a.grads[0] * cos(a.inputs[0])}; });
const Op op_cosine = floating<std::cos, -6000, 6000>(
    "cosine",
    [](const VjpArgs& a) -> std::vector<Tensor> { return {-(a.grads[0] * sin(a.inputs[0]))}; });

const Op op_not = {.name = "not",
                   .infer = [](const InferArgs& args) -> std::vector<TensorType> {
                     args.expect_inputs(1);
                     if (is_floating(args.dtype(0)))
                       args.fail("expects bool or integers, got {}", to_string(args.type(0)));
                     return {args.type(0)};
                   },
                   .vjp = kNoGradient,
                   .eval = [](std::span<const Array> in, const Node&) -> std::vector<Array> {
                     Array out(in[0].type);
                     bool logical = out.type.dtype == DType::kBool;
                     for (size_t i = 0; i < out.wholes.size(); ++i) {
                       out.wholes[i] =
                           logical ? !in[0].wholes[i] : wrap(out.type.dtype, ~in[0].wholes[i]);
                     }
                     return {out};
                   },
                   .cases = []() -> std::vector<Case> {
                     return {{"bool", {{{DType::kBool, {3, 5}}, 0, 1}}, {}, 0, false},
                             {"i32", {{{DType::kI32, {7}}, -9, 9}}, {}, 0, false}};
                   },
                   .elementwise = true};

const Op op_is_finite = {
    .name = "is_finite",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      infer_floating(args);
      return {{DType::kBool, args.shape(0)}};
    },
    .vjp = kNoGradient,
    .eval = [](std::span<const Array> in, const Node& node) -> std::vector<Array> {
      Array out(node.types[0]);
      for (size_t i = 0; i < out.wholes.size(); ++i) out.wholes[i] = std::isfinite(in[0].reals[i]);
      return {out};
    },
    .cases = []() -> std::vector<Case> {
      return {{"f32", {{{DType::kF32, {3, 5}}}}, {}, 0, false}};
    },
    .elementwise = true};

const Op op_convert = {
    .name = "convert",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(1);
      return {{args.attrs.dtype("dtype"), args.shape(0)}};
    },
    .vjp = [](const VjpArgs& a) -> std::vector<Tensor> {
      DType from = a.inputs[0].dtype();
      if (!is_floating(from)) return {Tensor()};
      return {convert(a.grads[0], from)};
    },
    .eval = [](std::span<const Array> in, const Node& node) -> std::vector<Array> {
      Array out(node.types[0]);
      bool to_bool = out.type.dtype == DType::kBool;
      for (int64_t i = 0; i < out.size(); ++i)
        out.set(i, to_bool ? in[0].number(i) != 0 : in[0].number(i));
      return {out};
    },
    .cases = []() -> std::vector<Case> {
      std::vector<Case> list;
      for (DType from : {DType::kF32, DType::kBF16, DType::kI32, DType::kBool}) {
        for (DType to : {DType::kF32, DType::kBF16, DType::kI32, DType::kBool}) {
          double low = from == DType::kBool ? 0 : -5, high = from == DType::kBool ? 1 : 5;
          list.push_back({fmt::format("{}_to_{}", name_of(from), name_of(to)),
                          {{{from, {3, 17}}, low, high}},
                          Attrs().set("dtype", to),
                          1e-5,
                          is_floating(from) && is_floating(to)});
        }
      }
      return list;
    },
    .elementwise = true};

Tensor abs(const Tensor& x, const Loc& loc) {
  return record1(op_abs, {x}, {}, loc);
}
Tensor ceil(const Tensor& x, const Loc& loc) {
  return record1(op_ceil, {x}, {}, loc);
}
Tensor cos(const Tensor& x, const Loc& loc) {
  return record1(op_cosine, {x}, {}, loc);
}
Tensor erf(const Tensor& x, const Loc& loc) {
  return record1(op_erf, {x}, {}, loc);
}
Tensor exp(const Tensor& x, const Loc& loc) {
  return record1(op_exponential, {x}, {}, loc);
}
Tensor floor(const Tensor& x, const Loc& loc) {
  return record1(op_floor, {x}, {}, loc);
}
Tensor is_finite(const Tensor& x, const Loc& loc) {
  return record1(op_is_finite, {x}, {}, loc);
}
Tensor log(const Tensor& x, const Loc& loc) {
  return record1(op_log, {x}, {}, loc);
}
Tensor logical_not(const Tensor& x, const Loc& loc) {
  return record1(op_not, {x}, {}, loc);
}
Tensor negate(const Tensor& x, const Loc& loc) {
  return record1(op_negate, {x}, {}, loc);
}
Tensor rsqrt(const Tensor& x, const Loc& loc) {
  return record1(op_rsqrt, {x}, {}, loc);
}
Tensor sigmoid(const Tensor& x, const Loc& loc) {
  return record1(op_logistic, {x}, {}, loc);
}
Tensor sign(const Tensor& x, const Loc& loc) {
  return record1(op_sign, {x}, {}, loc);
}
Tensor sin(const Tensor& x, const Loc& loc) {
  return record1(op_sine, {x}, {}, loc);
}
Tensor sqrt(const Tensor& x, const Loc& loc) {
  return record1(op_sqrt, {x}, {}, loc);
}
Tensor tanh(const Tensor& x, const Loc& loc) {
  return record1(op_tanh, {x}, {}, loc);
}
Tensor convert(const Tensor& x, DType dtype, const Loc& loc) {
  if (x.defined() && x.dtype() == dtype) return x;
  return record1(op_convert, {x}, Attrs().set("dtype", dtype), loc);
}
Tensor operator-(const Tensor& a) {
  return negate(a);
}
Tensor relu(const Tensor& x, const Loc& loc) {
  return maximum(x, full_like(x, 0), loc);
}
Tensor silu(const Tensor& x, const Loc& loc) {
  return multiply(x, sigmoid(x, loc), loc);
}

}  // namespace centavo
