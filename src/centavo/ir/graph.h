// Graph: a recorded program with fixed inputs and outputs, in program order. Passes map Graph to
// Graph.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "centavo/ir/tensor.h"

namespace centavo {

struct Graph {
  std::vector<std::shared_ptr<Node>>
      nodes;  // inputs first, then by program order; nodes[i]->id == i
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  // Per output: the input whose buffer it takes over when the graph runs, or -1.
  std::vector<int> aliases;
};

// Clones what `outputs` need into a Graph of its own. Nodes that have values already, and are not
// among `inputs`, become further inputs, appended to `captured`. Throws Error on an input without a
// value.
Graph build_graph(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                  std::vector<Tensor>* captured = nullptr);

// Replays a graph. The rewriter sees each node with its inputs already replaced and returns the
// outputs to use instead, or nothing to keep the node as it is. Inputs, aliases, scopes and places
// are kept.
using Rewriter =
    std::function<std::vector<Tensor>(const Node& node, const std::vector<Tensor>& inputs)>;
Graph rewrite(const Graph& graph, const Rewriter& rewriter);

// Replays `graph` on other inputs as part of what is being recorded; returns its outputs.
std::vector<Tensor> inline_graph(const Graph& graph, const std::vector<Tensor>& inputs);

// Of ops, attributes, types and structure; not of names, places or addresses. Stable across
// processes.
uint64_t structural_hash(const Graph& graph);
// One line a node: %5 = add f32[2,3] (%1, %4) {attrs} scope
std::string to_string(const Graph& graph);
// CHECKs that the graph is well formed and every node's types follow from its inputs. `after` names
// the pass.
void verify(const Graph& graph, std::string_view after);

// Users of each node's outputs: users[id] lists node ids, in order, once per use.
std::vector<std::vector<int>> users_of(const Graph& graph);

}  // namespace centavo
