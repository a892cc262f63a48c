// Importers of single ops, by what they do.
#pragma once

#include "centavo/stablehlo/importer.h"

namespace centavo::stablehlo {

// -- element by element: arithmetic_importers.cpp
Tensors import_abs(const OpReader& r);
Tensors import_add(const OpReader& r);
Tensors import_cbrt(const OpReader& r);
Tensors import_clamp(const OpReader& r);
Tensors import_compare(const OpReader& r);
Tensors import_convert(const OpReader& r);
Tensors import_count_leading_zeros(const OpReader& r);
Tensors import_elementwise(const OpReader& r);  // any elementwise primitive under its own name
Tensors import_erf(const OpReader& r);
Tensors import_exponential_minus_one(const OpReader& r);
Tensors import_log_plus_one(const OpReader& r);
Tensors import_maximum(const OpReader& r);
Tensors import_minimum(const OpReader& r);
Tensors import_multiply(const OpReader& r);
Tensors import_negate(const OpReader& r);
Tensors import_popcnt(const OpReader& r);
Tensors import_power(const OpReader& r);
Tensors import_reduce_precision(const OpReader& r);
Tensors import_remainder(const OpReader& r);
Tensors import_round_nearest_afz(const OpReader& r);
Tensors import_round_nearest_even(const OpReader& r);
Tensors import_select(const OpReader& r);
Tensors import_shift_left(const OpReader& r);
Tensors import_shift_right_arithmetic(const OpReader& r);
Tensors import_sign(const OpReader& r);
Tensors import_tan(const OpReader& r);

// -- calls, branches and loops: control_importers.cpp
Tensors import_call(const OpReader& r);
Tensors import_case(const OpReader& r);
Tensors import_composite(const OpReader& r);
Tensors import_custom_call(const OpReader& r);
Tensors import_if(const OpReader& r);
Tensors import_while(const OpReader& r);

// -- expectations of StableHLO's own tests: check_importers.cpp
Tensors import_check(const OpReader& r);

// -- products: product_importers.cpp
Tensors import_convolution(const OpReader& r);
Tensors import_dot(const OpReader& r);
Tensors import_dot_general(const OpReader& r);

// -- combinations of many elements: reduce_importers.cpp
Tensors import_map(const OpReader& r);
Tensors import_reduce(const OpReader& r);
Tensors import_reduce_window(const OpReader& r);
Tensors import_select_and_scatter(const OpReader& r);

// -- elements moved, repeated and made: op_importers.cpp
Tensors import_pad(const OpReader& r);

// Elements [start, limit) by `stride` along one dimension.
Tensor slice_along(const Tensor& x, int dim, int64_t start, int64_t limit, int64_t stride = 1);
// Like centavo::pad, by a value that may depend on inputs; negative amounts at the edges cut off.
Tensor pad_by(const Tensor& x, const Tensor& value, const Ints& low, const Ints& high,
              const Ints& interior);

}  // namespace centavo::stablehlo
