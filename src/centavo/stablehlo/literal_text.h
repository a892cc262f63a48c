// Constant data in StableHLO's text.
#pragma once

#include <string>

#include "centavo/ir/literal.h"

namespace centavo::stablehlo {

// "dense<1.5> : tensor<2xf32>": splats and booleans as numbers, other data as the hexadecimal of
// its little-endian bytes. Numbers read back as the same bits.
std::string literal_text(const Literal& literal);

}  // namespace centavo::stablehlo
