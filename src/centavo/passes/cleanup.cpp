// Dead code and common subexpressions.
#include <map>
#include <unordered_map>

#include "centavo/ir/op.h"
#include "centavo/passes/passes.h"

namespace centavo {

Graph eliminate_dead_code(const Graph& graph) {
  // A replay builds only what the outputs reach.
  return rewrite(graph,
                 [](const Node&, const std::vector<Tensor>&) { return std::vector<Tensor>(); });
}

Graph eliminate_common_subexpressions(const Graph& graph) {
  std::unordered_multimap<uint64_t, std::shared_ptr<Node>> seen;
  auto equal = [](const Node& a, const Node& b, const std::vector<Tensor>& inputs) {
    if (a.op != b.op || a.types != b.types || a.inputs.size() != inputs.size()) return false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!a.inputs[i].same_as(inputs[i])) return false;
    }
    return true;
  };
  return rewrite(graph,
                 [&](const Node& node, const std::vector<Tensor>& inputs) -> std::vector<Tensor> {
                   uint64_t attrs = hash_of(node.attrs);
                   uint64_t h = hash_bytes(attrs, node.op->name.data(), node.op->name.size());
                   for (const Tensor& input : inputs) {
                     h = hash_combine(hash_combine(h, input.node()->sequence),
                                      static_cast<uint64_t>(input.output()));
                   }
                   auto [begin, end] = seen.equal_range(h);
                   for (auto it = begin; it != end; ++it) {
                     if (!equal(*it->second, node, inputs) || hash_of(it->second->attrs) != attrs)
                       continue;
                     std::vector<Tensor> outputs;
                     for (size_t i = 0; i < node.types.size(); ++i)
                       outputs.emplace_back(it->second, static_cast<int>(i));
                     return outputs;
                   }
                   std::vector<Tensor> outputs = record(*node.op, inputs, node.attrs, node.loc);
                   seen.emplace(h, outputs[0].node());
                   return outputs;
                 });
}

}  // namespace centavo
