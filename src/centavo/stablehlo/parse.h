// StableHLO as MLIR text -> Graph.
#pragma once

#include <string>
#include <string_view>

#include "centavo/ir/graph.h"

namespace centavo::stablehlo {

// The function @main of a module, with the functions it calls inlined, in Centavo's primitives;
// what StableHLO has and the primitives lack is composed of them. The arguments' tf.aliasing_output
// becomes Graph::aliases. `name` is the file's, for messages. Throws Error: "[name:line:column]
// reason", with "unsupported: " before the reason for valid StableHLO that Centavo cannot run.
Graph parse(std::string_view text, const std::string& name);

// What a module expects of itself, in the dialect of StableHLO's own tests: check.expect_eq,
// check.expect_almost_eq and check.expect_close.
struct Expectation {
  std::string place;  // "step.mlir:3:17"
  Tensor actual, expected;
  double tolerance = 0;  // largest difference
  int64_t ulps = 0;      // or the largest number of representable values between the two
};

struct Program {
  Graph graph;  // its last outputs are the expectations' values: actual, expected, actual, ...
  size_t results = 0;  // outputs before them: what the function returns
  std::vector<Expectation> expectations;
};
// The same for a function of any name, with what it expects.
Program parse_program(std::string_view text, const std::string& name,
                      std::string_view function = "main");

}  // namespace centavo::stablehlo
