// A pass of the CPU backend.
#pragma once

#include <memory>

#include "centavo/backend/cpu/cpu_level.h"
#include "centavo/ir/graph.h"

namespace centavo::cpu {

// Rewrites bf16 convolutions and their gradients into fp32 ones between converts where the
// processor's level has no fast kernel for them: oneDNN's need AVX-512.
Graph wide_convolutions(const Graph& graph, CpuLevel level);
// What a node becomes by it; null for what stays as it is.
std::shared_ptr<const Node> wide_convolution(const Node& node, CpuLevel level);

}  // namespace centavo::cpu
