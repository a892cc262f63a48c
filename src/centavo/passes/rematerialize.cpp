// Values that are cheap to make again are not kept over the peak: a training step holds most memory
// where its backward pass begins, and there it holds the outputs of activations and norms whose
// inputs it keeps as well.
#include <algorithm>
#include <map>

#include "centavo/ops/movement.h"
#include "centavo/ops/registry.h"
#include "centavo/passes/passes.h"

namespace centavo {
namespace {

// One pass over memory, and no random numbers or sums over other rows.
bool is_cheap(const Node& node) {
  return node.op->elementwise || node.op == &op_layer_norm || node.op == &op_softmax ||
         node.op == &op_broadcast_in_dim;
}

// Live bytes while each node runs; graph inputs and outputs live elsewhere anyway.
size_t peak_position(const Graph& graph, const std::vector<int>& last_use) {
  std::vector<int64_t> change(graph.nodes.size() + 1, 0);
  for (const auto& node : graph.nodes) {
    if (node->op == &op_input) continue;
    int64_t bytes = 0;
    for (const TensorType& type : node->types) bytes += type.bytes();
    change[static_cast<size_t>(node->id)] += bytes;
    change[static_cast<size_t>(last_use[static_cast<size_t>(node->id)]) + 1] -= bytes;
  }
  size_t peak = 0;
  int64_t live = 0, most = -1;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    live += change[i];
    if (live > most) most = live, peak = i;
  }
  return peak;
}

}  // namespace

Graph rematerialize(const Graph& graph, int64_t min_bytes) {
  std::vector<std::vector<int>> users = users_of(graph);
  std::vector<int> last_use(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    last_use[i] = users[i].empty() ? static_cast<int>(i) : users[i].back();
  for (const Tensor& output : graph.outputs)
    last_use[static_cast<size_t>(output.node()->id)] = static_cast<int>(graph.nodes.size()) - 1;
  const int peak = static_cast<int>(peak_position(graph, last_use));

  // Worth it: large, used on both sides of the peak, and made from what lives at least as long as
  // its late use.
  auto first_late_use = [&](const Node& node) {
    const std::vector<int>& uses = users[static_cast<size_t>(node.id)];
    auto late = std::upper_bound(uses.begin(), uses.end(), peak);
    return late == uses.end() || late == uses.begin() ? -1 : *late;
  };
  std::vector<bool> again(graph.nodes.size(), false);
  for (const auto& node : graph.nodes) {
    if (node->op == &op_input || node->id >= peak || !is_cheap(*node) ||
        node->types[0].bytes() < min_bytes)
      continue;
    const int late = first_late_use(*node);
    if (late < 0) continue;
    again[static_cast<size_t>(node->id)] =
        std::all_of(node->inputs.begin(), node->inputs.end(), [&](const Tensor& t) {
          const auto id = static_cast<size_t>(t.node()->id);
          return t.node()->op == &op_input || (last_use[id] >= late && !again[id]);
        });
  }

  // Users after the peak read a copy, recorded right before the first of them. Its operands wait
  // behind a barrier for another operand of that user, so that no later pass makes the copy
  // together with the original.
  std::map<const Node*, Tensor> copies;
  return rewrite(graph,
                 [&](const Node& node, const std::vector<Tensor>& inputs) -> std::vector<Tensor> {
                   std::vector<Tensor> arguments = inputs;
                   auto late = std::find_if(node.inputs.begin(), node.inputs.end(),
                                            [&](const Tensor& t) { return t.node()->id > peak; });
                   if (late == node.inputs.end()) return {};
                   const Tensor& after = inputs[static_cast<size_t>(late - node.inputs.begin())];
                   for (size_t i = 0; i < inputs.size(); ++i) {
                     const Node& source = *node.inputs[i].node();
                     if (!again[static_cast<size_t>(source.id)] || node.inputs[i].output() != 0)
                       continue;
                     Tensor& copy = copies[&source];
                     if (!copy.defined()) {
                       std::vector<Tensor> operands;
                       for (const Tensor& operand : inputs[i].node()->inputs)
                         operands.push_back(optimization_barrier(operand, after, source.loc));
                       copy = record(*source.op, operands, source.attrs, source.loc)[0];
                     }
                     arguments[i] = copy;
                   }
                   return record(*node.op, arguments, node.attrs, node.loc);
                 });
}

}  // namespace centavo
