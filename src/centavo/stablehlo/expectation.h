// Do a program's values keep what it expects of them?
#pragma once

#include <optional>
#include <string>

#include "centavo/stablehlo/parse.h"

namespace centavo::stablehlo {

// The first element that does not keep `e`, for people: "element 3 is 1.5, expected 2". Row-major
// bytes of e's types. NaNs equal each other.
std::optional<std::string> mismatch(const Expectation& e, const void* actual, const void* expected);

}  // namespace centavo::stablehlo
