// Program order -> an order that keeps the peak low.
#include <algorithm>
#include <queue>

#include "centavo/ops/movement.h"
#include "centavo/ops/registry.h"
#include "centavo/passes/passes.h"

namespace centavo {
namespace {

// Ops of the tail end of a step: what turns a finished gradient into the new parameter.
bool belongs_to_updates(const Node& node) {
  const Op* op = node.op;
  if (op == &op_fusion) return node.attrs.text("kind") == "loop";
  return op->elementwise || op == &op_adam_update || op == &op_sgd_update ||
         op == &op_all_reduce ||
         op == &op_broadcast_in_dim || op == &op_reshape || op == &op_constant || op == &op_slice;
}

// Nodes that only lead out of the graph through such ops: running them as soon as they can frees
// gradients.
std::vector<bool> only_leave(const Graph& graph, const std::vector<std::vector<int>>& users) {
  std::vector<bool> leaves(graph.nodes.size(), false);
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    leaves[i] = belongs_to_updates(*graph.nodes[i]) &&
                std::all_of(users[i].begin(), users[i].end(),
                            [&](int user) { return leaves[static_cast<size_t>(user)]; });
  }
  return leaves;
}

// Nodes that read a node's memory, also under the other names that reshapes give it.
std::vector<int> readers_of(const Graph& graph, const std::vector<std::vector<int>>& users,
                            int id) {
  std::vector<int> readers = users[static_cast<size_t>(id)];
  for (size_t i = 0; i < readers.size(); ++i) {
    if (!renames_memory(*graph.nodes[static_cast<size_t>(readers[i])]->op)) continue;
    const std::vector<int>& more = users[static_cast<size_t>(readers[i])];
    readers.insert(readers.end(), more.begin(), more.end());
  }
  return readers;
}

}  // namespace

Graph schedule(const Graph& graph) {
  size_t count = graph.nodes.size();
  std::vector<std::vector<int>> users = users_of(graph);
  std::vector<bool> leaves = only_leave(graph, users);
  // Edges to wait for: inputs, and, before an input's buffer is taken over, all its other readers.
  std::vector<std::vector<int>> after(count);
  std::vector<int> waiting(count, 0);
  auto edge = [&](int before, int then) {
    after[static_cast<size_t>(before)].push_back(then);
    ++waiting[static_cast<size_t>(then)];
  };
  for (size_t i = 0; i < count; ++i) {
    for (int user : users[i]) edge(static_cast<int>(i), user);
  }
  for (size_t o = 0; o < graph.outputs.size(); ++o) {
    if (graph.aliases[o] < 0) continue;
    int writer = graph.outputs[o].node()->id;
    int input = graph.inputs[static_cast<size_t>(graph.aliases[o])].node()->id;
    for (int reader : readers_of(graph, users, input)) {
      if (reader < writer) edge(reader, writer);
    }
  }
  // Ready nodes: those that only leave first, then program order.
  auto later = [&](int a, int b) {
    bool a_leaves = leaves[static_cast<size_t>(a)], b_leaves = leaves[static_cast<size_t>(b)];
    return a_leaves != b_leaves ? b_leaves : a > b;
  };
  std::priority_queue<int, std::vector<int>, decltype(later)> ready(later);
  for (size_t i = 0; i < count; ++i) {
    if (waiting[i] == 0) ready.push(static_cast<int>(i));
  }
  Graph result;
  result.aliases = graph.aliases;
  std::vector<std::shared_ptr<Node>> fresh(count);
  auto map = [&](const Tensor& t) {
    return Tensor(fresh[static_cast<size_t>(t.node()->id)], t.output());
  };
  auto place = [&](int id) {
    const Node& node = *graph.nodes[static_cast<size_t>(id)];
    auto copy = std::make_shared<Node>();
    copy->op = node.op;
    copy->attrs = node.attrs;
    copy->types = node.types;
    copy->scope = node.scope;
    copy->loc = node.loc;
    for (const Tensor& input : node.inputs) copy->inputs.push_back(map(input));
    copy->id = static_cast<int>(result.nodes.size());
    copy->sequence = static_cast<uint64_t>(copy->id);
    fresh[static_cast<size_t>(id)] = copy;
    result.nodes.push_back(copy);
    for (int next : after[static_cast<size_t>(id)]) {
      if (--waiting[static_cast<size_t>(next)] == 0) ready.push(next);
    }
  };
  // Graph inputs lead; constants and other sources follow where program order has them.
  for (const Tensor& input : graph.inputs) {
    place(input.node()->id);
    result.inputs.emplace_back(fresh[static_cast<size_t>(input.node()->id)], 0);
  }
  while (!ready.empty()) {
    int id = ready.top();
    ready.pop();
    if (!fresh[static_cast<size_t>(id)]) place(id);
  }
  CENTAVO_CHECK(result.nodes.size() == count, "schedule: {} of {} nodes", result.nodes.size(),
                count);
  for (const Tensor& output : graph.outputs) result.outputs.push_back(map(output));
  return result;
}

}  // namespace centavo
