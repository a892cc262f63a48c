// How StableHLO's text spells types.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "centavo/base/shape.h"

namespace centavo::stablehlo {

// MLIR's name of an element type: "i1" for bool, "ui8" for u8, otherwise as name_of.
std::string_view element_name(DType dtype);
// The inverse; nothing for element types that Centavo lacks (f16, complex<f32>, i4, ...).
std::optional<DType> element_from_name(std::string_view name);
// "tensor<2x3xf32>"; "tensor<f32>" for a scalar.
std::string type_text(const TensorType& type);

}  // namespace centavo::stablehlo
