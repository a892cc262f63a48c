// batch_norm over all dimensions but the last, and its gradient. The op returns the batch's mean
// and variance, which the gradient and the running averages use.
#include "centavo/ops/conv.h"
#include "centavo/ops/elementwise.h"
#include "centavo/ops/movement.h"
#include "centavo/ops/nn.h"
#include "centavo/ops/reduce.h"
#include "centavo/ops/registry.h"

namespace centavo {
namespace {

std::vector<int64_t> leading_dims(const Tensor& x) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d + 1 < x.rank(); ++d) dims.push_back(d);
  return dims;
}

std::vector<Tensor> decompose(std::span<const Tensor> in, const Attrs& attrs) {
  DType stat = statistics_dtype(in[0].dtype());
  Tensor x = convert(in[0], stat);
  Tensor mu = mean(x, leading_dims(x));
  Tensor centred = x - mu;
  Tensor variance = mean(centred * centred, leading_dims(x));
  Tensor scale = rsqrt(variance + attrs.real("eps")) * convert(in[1], stat);
  return {convert(centred * scale + convert(in[2], stat), in[0].dtype()), mu, variance};
}

// (x, weight, mean, variance, dy) -> (dx, dweight, dbias)
std::vector<Tensor> decompose_grad(std::span<const Tensor> in, const Attrs& attrs) {
  DType stat = statistics_dtype(in[0].dtype());
  Tensor x = convert(in[0], stat), weight = convert(in[1], stat), dy = convert(in[4], stat);
  Tensor rstd = rsqrt(in[3] + attrs.real("eps"));
  Tensor normal = (x - in[2]) * rstd;
  Tensor dbias = sum(dy, leading_dims(x)), dweight = sum(dy * normal, leading_dims(x));
  double per_element = static_cast<double>(x.dim(-1)) / static_cast<double>(x.shape().elements());
  Tensor dx = (dy - dbias * per_element - normal * (dweight * per_element)) * (rstd * weight);
  return {convert(dx, in[0].dtype()), convert(dweight, in[1].dtype()),
          convert(dbias, in[1].dtype())};
}

std::vector<Shape> shapes() {
  return {{7, 5}, {2, 5, 7, 16}, {1, 3, 3, 65}};
}

}  // namespace

const Op op_batch_norm = {
    .name = "batch_norm",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(3);
      const Shape& x = args.shape(0);
      if (x.rank() < 2 || !is_floating(args.dtype(0)))
        args.fail("expects x[..., C], got {}", to_string(args.type(0)));
      Shape channels{x[-1]};
      for (size_t i : {1, 2}) {
        if (args.shape(i) != channels)
          args.fail("{} expects {}, got {}", i == 1 ? "weight" : "bias", to_string(channels),
                    to_string(args.type(i)));
      }
      TensorType statistic{statistics_dtype(args.dtype(0)), channels};
      return {args.type(0), statistic, statistic};
    },
    .vjp = [](const VjpArgs& a) -> std::vector<Tensor> {
      CENTAVO_CHECK(!a.grads[1].defined() && !a.grads[2].defined(),
                    "batch_norm's statistics have no gradient");
      return record(op_batch_norm_grad,
                    {a.inputs[0], a.inputs[1], a.outputs[1], a.outputs[2], a.grads[0]}, a.attrs);
    },
    .decompose = decompose,
    .cost = [](const Node& node) -> Cost {
      const TensorType& x = node.inputs[0].type();
      return {8.0 * static_cast<double>(x.shape.elements()), 3.0 * static_cast<double>(x.bytes())};
    },
    .cases = []() -> std::vector<Case> {
      std::vector<Case> list;
      for (DType d : {DType::kF32, DType::kBF16}) {
        for (const Shape& s : shapes()) {
          list.push_back({to_string(TensorType{d, s}),
                          {{{d, s}, -2, 3}, {{DType::kF32, {s[-1]}}}, {{DType::kF32, {s[-1]}}}},
                          Attrs().set("eps", 1e-5),
                          1e-5});
        }
      }
      return list;
    },
};

const Op op_batch_norm_grad = {
    .name = "batch_norm_grad",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(5);
      return {args.type(0), args.type(1), args.type(1)};
    },
    .decompose = decompose_grad,
    .cost = [](const Node& node) -> Cost {
      const TensorType& x = node.inputs[0].type();
      return {12.0 * static_cast<double>(x.shape.elements()), 5.0 * static_cast<double>(x.bytes())};
    },
    .cases = []() -> std::vector<Case> {
      std::vector<Case> list;
      for (DType d : {DType::kF32, DType::kBF16}) {
        for (const Shape& s : shapes()) {
          TensorType channel{DType::kF32, {s[-1]}};
          list.push_back({to_string(TensorType{d, s}),
                          {{{d, s}}, {channel}, {channel, -0.2, 0.2}, {channel, 0.5, 2}, {{d, s}}},
                          Attrs().set("eps", 1e-5),
                          1e-5,
                          false});
        }
      }
      return list;
    },
};

BatchNormResult batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps,
                           const Loc& loc) {
  std::vector<Tensor> out = record(op_batch_norm, {x, weight, bias}, Attrs().set("eps", eps), loc);
  return {out[0], out[1], out[2]};
}

}  // namespace centavo
