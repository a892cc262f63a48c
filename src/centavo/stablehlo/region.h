// Regions that combine two scalars.
#pragma once

#include "centavo/stablehlo/importer.h"

namespace centavo::stablehlo {

// "add", "max" or "min", or "GE" for that comparison in the arguments' order, when the region does
// only that to its two arguments; else "".
std::string combiner_of(const OpReader& r, const Region& region);
// Is x, everywhere, what a reduction of `kind` starts from?
bool is_identity(const Tensor& x, const std::string& kind);

}  // namespace centavo::stablehlo
