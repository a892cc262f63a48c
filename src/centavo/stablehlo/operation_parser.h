// Text -> operations, in generic form.
#pragma once

#include "centavo/stablehlo/scanner.h"
#include "centavo/stablehlo/syntax.h"

namespace centavo::stablehlo {

// One operation and the regions in it. `depth` counts the regions around it.
Operation parse_operation(Scanner& scan, int depth = 0);
// "{ operations }", with or without ^bb0(arguments):.
Region parse_region(Scanner& scan, int depth = 0);
// "%name: type {attributes}, ..." between parentheses.
std::vector<Argument> parse_arguments(Scanner& scan);
// %name or %name#index
ValueName parse_value(Scanner& scan);

}  // namespace centavo::stablehlo
