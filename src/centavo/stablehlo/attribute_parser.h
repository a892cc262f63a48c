// Text -> types and attributes.
#pragma once

#include "centavo/stablehlo/scanner.h"
#include "centavo/stablehlo/syntax.h"

namespace centavo::stablehlo {

// tensor<2x3xf32>, or any other type of MLIR's. Throws Error on a shape with more than 2^40
// elements, or 2^31 along one dimension, so that sums and products of two extents fit 64 bits.
Type parse_type(Scanner& scan);
// "(type, ...)" or one type.
std::vector<Type> parse_types(Scanner& scan);
// Any attribute. `depth` guards against nesting without end.
Attribute parse_attribute(Scanner& scan, int depth = 0);
// A number without a type behind it.
Attribute parse_number(Scanner& scan);
// {name = attribute, name, ...} from its brace on, into `into`.
void parse_dictionary(Scanner& scan, Dictionary& into, int depth = 0);
// [b, 0, 1, f]x[o, i, 0, 1]->[b, 0, 1, f] in the words of the raw form.
Dictionary parse_convolution_layout(Scanner& scan);
// [1, 2, 3]
std::vector<int64_t> parse_integers(Scanner& scan);
// loc(...) if there is one: places of another program are of no use here.
void skip_location(Scanner& scan);

}  // namespace centavo::stablehlo
