// layer_norm and its gradient. Outputs of the op: y, and mean and 1/sqrt(variance + eps) per row
// for the gradient.
#include "centavo/ops/creation.h"
#include "centavo/ops/elementwise.h"
#include "centavo/ops/movement.h"
#include "centavo/ops/nn.h"
#include "centavo/ops/reduce.h"
#include "centavo/ops/registry.h"

namespace centavo {
namespace {

// A per-row value, repeated along the row.
Tensor along_rows(const Tensor& row_value, const Shape& shape) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d + 1 < shape.rank(); ++d) dims.push_back(d);
  return broadcast_in_dim(row_value, shape, dims);
}

Shape rows_of(const Shape& shape) {
  return Shape(std::vector<int64_t>(shape.begin(), shape.end() - 1));
}

std::vector<TensorType> infer(const InferArgs& args) {
  args.expect_inputs(3);
  if (args.shape(0).rank() < 1 || !is_floating(args.dtype(0)))
    args.fail("expects floating rows, got {}", to_string(args.type(0)));
  Shape want{args.shape(0)[-1]};
  for (size_t i : {1, 2}) {
    if (args.shape(i) != want) {
      args.fail("{} expects {}, got {}", i == 1 ? "weight" : "bias", to_string(want),
                to_string(args.type(i)));
    }
  }
  TensorType statistic{statistics_dtype(args.dtype(0)), rows_of(args.shape(0))};
  return {args.type(0), statistic, statistic};
}

std::vector<Tensor> decompose(std::span<const Tensor> in, const Attrs& attrs) {
  DType stat = statistics_dtype(in[0].dtype());
  Tensor x = convert(in[0], stat);
  Tensor mu = mean(x, {-1});
  Tensor centred = x - along_rows(mu, x.shape());
  Tensor rstd = rsqrt(mean(centred * centred, {-1}) + attrs.real("eps"));
  Tensor y = centred * along_rows(rstd, x.shape()) * convert(in[1], stat) + convert(in[2], stat);
  return {convert(y, in[0].dtype()), mu, rstd};
}

std::vector<Tensor> decompose_grad(std::span<const Tensor> in, const Attrs&) {
  DType stat = statistics_dtype(in[0].dtype());
  Tensor x = convert(in[0], stat), weight = convert(in[1], stat), dy = convert(in[4], stat);
  Tensor normal = (x - along_rows(in[2], x.shape())) * along_rows(in[3], x.shape());
  Tensor g = dy * weight;
  Tensor dx =
      along_rows(in[3], x.shape()) * (g - along_rows(mean(g, {-1}), x.shape()) -
                                      normal * along_rows(mean(g * normal, {-1}), x.shape()));
  std::vector<int64_t> outer;
  for (int64_t d = 0; d + 1 < x.rank(); ++d) outer.push_back(d);
  return {convert(dx, in[0].dtype()), convert(sum(dy * normal, outer), in[1].dtype()),
          convert(sum(dy, outer), in[1].dtype())};
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (DType d : {DType::kF32, DType::kBF16}) {
    for (Shape x : {Shape{3, 17}, Shape{2, 5, 197}, Shape{4, 192}, Shape{1, 1000}}) {
      list.push_back({to_string(TensorType{d, x}),
                      {{{d, x}, -2, 3}, {{DType::kF32, {x[-1]}}}, {{DType::kF32, {x[-1]}}}},
                      Attrs().set("eps", 1e-6),
                      1e-5});
    }
  }
  return list;
}

}  // namespace

const Op op_layer_norm = {
    .name = "layer_norm",
    .infer = infer,
    .vjp = [](const VjpArgs& a) -> std::vector<Tensor> {
      CENTAVO_CHECK(!a.grads[1].defined() && !a.grads[2].defined(),
                    "layer_norm's statistics have no gradient");
      return record(op_layer_norm_grad,
                    {a.inputs[0], a.inputs[1], a.outputs[1], a.outputs[2], a.grads[0]});
    },
    .decompose = decompose,
    .cost = [](const Node& node) -> Cost {
      const TensorType& x = node.inputs[0].type();
      return {8.0 * static_cast<double>(x.shape.elements()), 2.0 * static_cast<double>(x.bytes())};
    },
    .cases = cases,
};

// (x, weight, mean, rstd, dy) -> (dx, dweight, dbias)
const Op op_layer_norm_grad = {
    .name = "layer_norm_grad",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(5);
      return {args.type(0), args.type(1), args.type(1)};
    },
    .decompose = decompose_grad,
    .cost = [](const Node& node) -> Cost {
      const TensorType& x = node.inputs[0].type();
      return {14.0 * static_cast<double>(x.shape.elements()), 3.0 * static_cast<double>(x.bytes())};
    },
    .cases = []() -> std::vector<Case> {
      std::vector<Case> list;
      for (DType d : {DType::kF32, DType::kBF16}) {
        for (Shape x : {Shape{3, 17}, Shape{2, 5, 197}, Shape{40, 192}}) {
          TensorType statistic{DType::kF32, rows_of(x)};
          list.push_back({to_string(TensorType{d, x}),
                          {{{d, x}},
                           {{DType::kF32, {x[-1]}}},
                           {statistic, -0.2, 0.2},
                           {statistic, 0.5, 2},
                           {{d, x}}},
                          {},
                          1e-5,
                          false});
        }
      }
      return list;
    },
};

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps,
                  const Loc& loc) {
  return record(op_layer_norm, {x, weight, bias}, Attrs().set("eps", eps), loc)[0];
}

}  // namespace centavo
