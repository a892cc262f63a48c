// Graph -> StableHLO as MLIR text.
#pragma once

#include <string>

#include "centavo/ir/graph.h"

namespace centavo::stablehlo {

struct EmitOptions {
  std::string module_name = "module";  // letters, digits and '_'
  // Write Graph::aliases as tf.aliasing_output, so that a compiler may reuse the inputs' buffers.
  bool donate = true;
};

// The legalised graph as a module with one function, @main, in generic op form, limited to the ops
// and attributes of StableHLO 1.0; it has one replica per rank that all_reduce joins. The same
// graph gives the same bytes. Throws Error on an op that has no such form.
std::string emit(const Graph& graph, const EmitOptions& options = {});

}  // namespace centavo::stablehlo
