// The fuse pass: elementwise ops, views, random numbers and reductions become fusions, so that each
// tensor is read and written as few times as possible.
#pragma once

#include "centavo/ir/graph.h"

namespace centavo::cpu {

// Afterwards no op that runs on a tape is left outside a fusion. Fusions are described in
// kernels/fusion.h.
Graph fuse(const Graph& graph);

}  // namespace centavo::cpu
