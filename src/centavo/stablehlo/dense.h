// dense<...> in StableHLO's text -> data.
#pragma once

#include "centavo/ir/literal.h"
#include "centavo/stablehlo/scanner.h"
#include "centavo/stablehlo/syntax.h"

namespace centavo::stablehlo {

// The values of dense<content> : type; of a splat, one. Throws Unsupported on a type without values
// here, Error on content that does not fit the type.
Literal decode(const Source& source, const DenseText& dense);
// The same as whole numbers, for attributes.
std::vector<int64_t> decode_integers(const Source& source, const DenseText& dense);

}  // namespace centavo::stablehlo
