// adam_update and sgd_update.
#include "centavo/ops/update.h"

#include "centavo/ops/elementwise.h"
#include "centavo/ops/movement.h"
#include "centavo/ops/nn.h"
#include "centavo/ops/registry.h"

namespace centavo {
namespace {

// Element i of the hyperparameters, repeated over `shape`.
Tensor hyper_value(const Tensor& hyper, int64_t i, const Tensor& like) {
  Tensor scalar = reshape(slice_axis(hyper, 0, i, i + 1), {});
  return broadcast_in_dim(convert(scalar, like.dtype()), like.shape(), {});
}

std::vector<TensorType> infer(const InferArgs& args, size_t states, int64_t hypers) {
  args.expect_inputs(states + 3);
  for (size_t i = 0; i < states + 2; ++i) {
    if (args.shape(i) != args.shape(0) || !is_floating(args.dtype(i))) {
      args.fail("parameter {} and {} {} differ", to_string(args.type(0)),
                i == 1 ? "gradient" : "state", to_string(args.type(i)));
    }
  }
  if (args.shape(states + 2) != Shape{hypers})
    args.fail("expects hyperparameters f32[{}], got {}", hypers, to_string(args.type(states + 2)));
  std::vector<TensorType> types = {args.type(0)};
  for (size_t i = 0; i < states; ++i) types.push_back(args.type(2 + i));
  return types;
}

std::vector<Tensor> decompose_adam(std::span<const Tensor> in, const Attrs& attrs) {
  DType d = statistics_dtype(in[0].dtype());
  Tensor p = convert(in[0], d), g = convert(in[1], d), m = convert(in[2], d), v = convert(in[3], d);
  double beta1 = attrs.real("beta1"), beta2 = attrs.real("beta2"),
         decay = attrs.real("weight_decay");
  Tensor step_size = hyper_value(in[4], 0, p), correction = hyper_value(in[4], 1, p),
         lr = hyper_value(in[4], 2, p);
  if (decay != 0) {
    if (attrs.flag("decoupled"))
      p = p - lr * decay * p;
    else
      g = g + p * decay;
  }
  m = m * beta1 + g * (1 - beta1);
  v = v * beta2 + g * g * (1 - beta2);
  p = p - step_size * m / (sqrt(v) * correction + attrs.real("eps"));
  return {convert(p, in[0].dtype()), convert(m, in[2].dtype()), convert(v, in[3].dtype())};
}

std::vector<Tensor> decompose_sgd(std::span<const Tensor> in, const Attrs& attrs) {
  DType d = statistics_dtype(in[0].dtype());
  Tensor p = convert(in[0], d), g = convert(in[1], d);
  bool has_momentum = in.size() == 4;
  Tensor lr = hyper_value(in[in.size() - 1], 0, p);
  double momentum = attrs.real("momentum"), decay = attrs.real("weight_decay");
  if (decay != 0) g = g + p * decay;
  if (!has_momentum) return {convert(p - lr * g, in[0].dtype())};
  Tensor buffer = convert(in[2], d) * momentum + g * (1 - attrs.real("dampening"));
  Tensor direction = attrs.flag("nesterov") ? g + buffer * momentum : buffer;
  return {convert(p - lr * direction, in[0].dtype()), convert(buffer, in[2].dtype())};
}

Cost cost(const Node& node) {
  double bytes = 0;
  for (const Tensor& input : node.inputs) bytes += static_cast<double>(input.type().bytes());
  for (const TensorType& type : node.types) bytes += static_cast<double>(type.bytes());
  return {12.0 * static_cast<double>(node.types[0].shape.elements()), bytes};
}

Attrs adam_attrs(const AdamOptions& o) {
  return Attrs()
      .set("beta1", o.beta1)
      .set("beta2", o.beta2)
      .set("eps", o.eps)
      .set("weight_decay", o.weight_decay)
      .set("decoupled", o.decoupled);
}
Attrs sgd_attrs(const SgdOptions& o) {
  return Attrs()
      .set("momentum", o.momentum)
      .set("dampening", o.dampening)
      .set("weight_decay", o.weight_decay)
      .set("nesterov", o.nesterov);
}

std::vector<Case> adam_cases() {
  std::vector<Case> list;
  for (DType d : {DType::kF32, DType::kBF16}) {
    for (AdamOptions options : {AdamOptions{}, AdamOptions{.weight_decay = 0.1},
                                AdamOptions{.weight_decay = 0.1, .decoupled = true}}) {
      for (Shape s : {Shape{}, Shape{3, 17}, Shape{1000}}) {
        list.push_back(
            {fmt::format("{}_{}{}", to_string(TensorType{d, s}), options.weight_decay,
                         options.decoupled ? "w" : ""),
             {{{d, s}}, {{d, s}}, {{d, s}}, {{d, s}, 0.1, 1}, {{DType::kF32, {3}}, 0.01, 0.2}},
             adam_attrs(options),
             1e-5,
             false});
      }
    }
  }
  list.push_back({"f32_master_bf16_gradient",
                  {{{DType::kF32, {3, 17}}},
                   {{DType::kBF16, {3, 17}}},
                   {{DType::kF32, {3, 17}}},
                   {{DType::kF32, {3, 17}}, 0.1, 1},
                   {{DType::kF32, {3}}, 0.01, 0.2}},
                  adam_attrs({}),
                  1e-5,
                  false});
  return list;
}

std::vector<Case> sgd_cases() {
  std::vector<Case> list;
  for (SgdOptions options : {SgdOptions{}, SgdOptions{.momentum = 0.9, .weight_decay = 0.1},
                             SgdOptions{.momentum = 0.9, .nesterov = true}}) {
    std::vector<CaseInput> inputs = {{{DType::kF32, {3, 17}}}, {{DType::kF32, {3, 17}}}};
    if (options.momentum != 0) inputs.push_back({{DType::kF32, {3, 17}}});
    inputs.push_back({{DType::kF32, {1}}, 0.01, 0.2});
    list.push_back(
        {fmt::format("momentum{}{}", options.momentum, options.nesterov ? "_nesterov" : ""), inputs,
         sgd_attrs(options), 1e-5, false});
  }
  return list;
}

}  // namespace

// (parameter, gradient, m, v, hyper) -> (parameter, m, v)
const Op op_adam_update = {
    .name = "adam_update",
    .infer = [](const InferArgs& args) { return infer(args, 2, 3); },
    .decompose = decompose_adam,
    .cost = cost,
    .cases = adam_cases,
};

// (parameter, gradient[, momentum], hyper) -> (parameter[, momentum])
const Op op_sgd_update = {
    .name = "sgd_update",
    .infer = [](const InferArgs& args) { return infer(args, args.inputs.size() == 4 ? 1 : 0, 1); },
    .decompose = decompose_sgd,
    .cost = cost,
    .cases = sgd_cases,
};

AdamResult adam_update(const Tensor& parameter, const Tensor& gradient, const Tensor& m,
                       const Tensor& v, const Tensor& hyper, const AdamOptions& options,
                       const Loc& loc) {
  std::vector<Tensor> out =
      record(op_adam_update, {parameter, gradient, m, v, hyper}, adam_attrs(options), loc);
  return {out[0], out[1], out[2]};
}

SgdResult sgd_update(const Tensor& parameter, const Tensor& gradient, const Tensor& momentum,
                     const Tensor& hyper, const SgdOptions& options, const Loc& loc) {
  std::vector<Tensor> inputs = {parameter, gradient};
  if (options.momentum != 0) inputs.push_back(momentum);
  inputs.push_back(hyper);
  std::vector<Tensor> out = record(op_sgd_update, inputs, sgd_attrs(options), loc);
  return {out[0], out.size() > 1 ? out[1] : Tensor()};
}

}  // namespace centavo
