// Local rewrites to cheaper forms of the same value.
#include "centavo/ir/op.h"
#include "centavo/passes/passes.h"

namespace centavo {

Graph simplify(const Graph& graph) {
  return eliminate_dead_code(graph);
}

}  // namespace centavo
