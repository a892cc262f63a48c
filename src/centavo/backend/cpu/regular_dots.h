// A pass of the CPU backend.
#pragma once

#include "centavo/ir/graph.h"

namespace centavo::cpu {

// Rewrites every dot_general that plan_dot cannot map to strides into transposes and one that it
// can.
Graph regular_dots(const Graph& graph);

}  // namespace centavo::cpu
