// Values that do not depend on a graph's inputs.
#pragma once

#include <optional>

#include "centavo/ir/array.h"
#include "centavo/ir/tensor.h"

namespace centavo::stablehlo {

// The value of x if it follows from constants alone and neither it nor what it is made from has
// more than a few thousand elements.
std::optional<Array> fold(const Tensor& x);
// x as a constant where fold can say its value, else x.
Tensor folded(const Tensor& x);
// The same for the sole element of a tensor.
std::optional<double> scalar_value(const Tensor& x);

}  // namespace centavo::stablehlo
