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

}  // namespace centavo::stablehlo
