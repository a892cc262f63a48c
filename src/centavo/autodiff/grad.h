// Gradients by a reverse walk over recorded nodes, each op contributing its own rule.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "centavo/ir/tensor.h"

namespace centavo {

// d(loss)/d(x) for each x of `with_respect_to`; zeros where the loss does not depend on it. `loss`
// is a scalar. Throws Error when the loss is no floating scalar or an op on the way has no
// gradient.
std::vector<Tensor> grad(const Tensor& loss, const std::vector<Tensor>& with_respect_to);

// The general form: the gradient of sum_i outputs[i] * cotangents[i].
std::vector<Tensor> vjp(const std::vector<Tensor>& outputs, const std::vector<Tensor>& cotangents,
                        const std::vector<Tensor>& with_respect_to);

// A function that returns f's value and its gradient by the first argument's tensors.
using LossFunction = std::function<Tensor(const std::vector<Tensor>& parameters)>;
std::function<std::pair<Tensor, std::vector<Tensor>>(const std::vector<Tensor>&)> value_and_grad(
    LossFunction f);

}  // namespace centavo
