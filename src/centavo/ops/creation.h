// Tensors made from nothing: constants and counters.
#pragma once

#include <vector>

#include "centavo/ir/tensor.h"

namespace centavo {

// Every element is `value`, converted to dtype.
Tensor full(const Shape& shape, double value, DType dtype = DType::kF32,
            const Loc& loc = Loc::current());
Tensor full_like(const Tensor& x, double value, const Loc& loc = Loc::current());
// Row-major data that becomes part of the graph. For values that change use inputs instead: another
// constant is another program.
Tensor constant(Literal literal, const Loc& loc = Loc::current());
// Element [..., i, ...] is i, counted along `axis`.
Tensor iota(const TensorType& type, int axis, const Loc& loc = Loc::current());

}  // namespace centavo
