// What reductions start from.
#pragma once

#include <string>

#include "centavo/ir/literal.h"

namespace centavo::stablehlo {

// The scalar that leaves every x as it is under `kind`: "add", "max" or "min".
Literal identity_of(const std::string& kind, DType dtype);

}  // namespace centavo::stablehlo
