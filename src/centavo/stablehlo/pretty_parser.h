// Text -> operations, in the forms that MLIR prints for people. Part of operation_parser.h.
#pragma once

#include "centavo/stablehlo/scanner.h"
#include "centavo/stablehlo/syntax.h"

namespace centavo::stablehlo {

// Behind the results and '=': stablehlo.transpose %x, dims = [1, 0] : (tensor<..>) -> tensor<..>
// Throws Unsupported on an op whose form is not known.
void parse_pretty(Scanner& scan, Operation& op, int depth);

}  // namespace centavo::stablehlo
