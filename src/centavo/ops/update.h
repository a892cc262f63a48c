// One optimizer step of one parameter, with PyTorch's formulas. State and arithmetic are fp32 (fp64
// for fp64); results are rounded to the parameter's and the state's dtypes. Hyperparameters that
// change during a run come as a tensor, so that changing them never compiles anything.
#pragma once

#include "centavo/ir/tensor.h"

namespace centavo {

struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double weight_decay = 0;
  bool decoupled = false;  // AdamW: decay the parameter itself, not through the gradient
};
struct AdamResult {
  Tensor parameter, m, v;
};
// `hyper` is f32[3]: lr / (1 - beta1^t), 1 / sqrt(1 - beta2^t), lr. All but `hyper` have one shape.
AdamResult adam_update(const Tensor& parameter, const Tensor& gradient, const Tensor& m,
                       const Tensor& v, const Tensor& hyper, const AdamOptions& options,
                       const Loc& loc = Loc::current());

struct SgdOptions {
  double momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
};
struct SgdResult {
  Tensor parameter, momentum;  // momentum undefined when the options have none
};
// `hyper` is f32[1]: lr. The momentum buffer starts at zero, which with no dampening is PyTorch's
// start.
SgdResult sgd_update(const Tensor& parameter, const Tensor& gradient, const Tensor& momentum,
                     const Tensor& hyper, const SgdOptions& options,
                     const Loc& loc = Loc::current());

}  // namespace centavo
