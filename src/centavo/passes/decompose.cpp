// Composites -> kernels and primitives.
#include "centavo/ir/op.h"
#include "centavo/passes/passes.h"

namespace centavo {

Graph decompose(const Graph& graph, const HasKernel& has_kernel) {
  bool changed = false;
  Graph result = rewrite(
      graph, [&](const Node& node, const std::vector<Tensor>& inputs) -> std::vector<Tensor> {
        if (!node.op->decompose || has_kernel(node)) return {};
        changed = true;
        return node.op->decompose(inputs, node.attrs);
      });
  return changed ? decompose(result, has_kernel) : result;
}

}  // namespace centavo
