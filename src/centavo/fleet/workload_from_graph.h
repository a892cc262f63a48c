// A Workload from the recorded graph of a training step: any model, batch, precision and optimizer
// of the library.
#pragma once

#include <string>

#include "centavo/fleet/workload.h"
#include "centavo/ir/graph.h"

namespace centavo::fleet {

// What the graph itself does not say.
struct GraphFacts {
  std::string model, precision, optimizer;  // precision: a name in precisions()
  int batch = 0;
  double sample_elements = 0;  // numbers in one input sample
};

// `graph` computes loss, gradients and updates, recorded in that order and not yet rewritten by
// passes. Kernels are those of an eager framework: views cost nothing, chains of elementwise ops
// are one kernel, a bias is added by the product before it, attention writes its scores.
// Activations are the values of the forward pass that the backward pass reads. Throws Error when
// there is no loss (cross_entropy) in it.
Workload workload_from_graph(const Graph& graph, const GraphFacts& facts);

}  // namespace centavo::fleet
