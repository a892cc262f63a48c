// Text -> functions as written.
#pragma once

#include "centavo/stablehlo/scanner.h"
#include "centavo/stablehlo/syntax.h"

namespace centavo::stablehlo {

struct Module {
  Dictionary attributes;
  std::vector<Function> functions;
  // Functions that use what Centavo cannot read, and the message. They may go unused.
  std::map<std::string, std::string, std::less<>> unsupported;
};

// `module { functions }`, or functions alone. Throws Error with the place of what is malformed.
Module parse_module(const Source& source);

}  // namespace centavo::stablehlo
