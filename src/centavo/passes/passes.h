// Passes: each maps a Graph to an equivalent one. pipeline.cpp lists them in the order in which
// backends run them.
#pragma once

#include <functional>

#include "centavo/ir/graph.h"

namespace centavo {

// Asked of composites: does the backend run this node as it is?
using HasKernel = std::function<bool(const Node&)>;

// Replaces composites without a kernel, again and again, until only kernels and primitives are
// left.
Graph decompose(const Graph& graph, const HasKernel& has_kernel);
// Drops what no output needs.
Graph eliminate_dead_code(const Graph& graph);
// Computes equal expressions once.
Graph eliminate_common_subexpressions(const Graph& graph);
// Rewrites to cheaper forms of the same value: identities, chains of reshapes and converts, scalar
// factors, transposes folded into products, products written in the dtype that they are converted
// to.
Graph simplify(const Graph& graph);
// Makes cheap values (elementwise ones, norms) of at least `min_bytes` again where the backward pass reads them, if
// what they are made from is kept anyway, instead of keeping them over the step's peak.
Graph rematerialize(const Graph& graph, int64_t min_bytes);
// Orders nodes so that what is large dies early: optimizer updates run as soon as their gradient is
// there.
Graph schedule(const Graph& graph);

struct PipelineOptions {
  HasKernel has_kernel;
  // Extra passes of the backend (fusion, layout) that run after the common ones, in order.
  std::vector<std::pair<std::string, std::function<Graph(const Graph&)>>> backend_passes;
};
// All of the above in order, verified after each; CENTAVO_DUMP=passes prints the graph after each.
Graph run_pipeline(const Graph& graph, const PipelineOptions& options);

}  // namespace centavo
