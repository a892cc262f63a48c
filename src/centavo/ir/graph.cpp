// Building, replaying, hashing, printing and verifying graphs.
#include "centavo/ir/graph.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <unordered_map>
#include <unordered_set>

#include "centavo/ir/op.h"

namespace centavo {
namespace {

// Nodes that `outputs` need, in program order, without looking behind nodes that have values.
std::vector<std::shared_ptr<Node>> reachable(const std::vector<Tensor>& outputs) {
  std::unordered_set<Node*> seen;
  std::vector<std::shared_ptr<Node>> stack, found;
  auto push = [&](const Tensor& t) {
    if (seen.insert(t.node().get()).second) stack.push_back(t.node());
  };
  for (const Tensor& t : outputs) push(t);
  while (!stack.empty()) {
    std::shared_ptr<Node> node = std::move(stack.back());
    stack.pop_back();
    if (node->values.empty()) {
      for (const Tensor& input : node->inputs) push(input);
    }
    found.push_back(std::move(node));
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a->sequence < b->sequence; });
  return found;
}

bool is_leaf(const Node& node) {
  return node.op == &op_input || !node.values.empty();
}

std::shared_ptr<Node> clone(const Node& node) {
  auto copy = std::make_shared<Node>();
  copy->op = node.op;
  copy->attrs = node.attrs;
  copy->types = node.types;
  copy->scope = node.scope;
  copy->loc = node.loc;
  copy->sequence = node.sequence;
  return copy;
}

class Builder {
 public:
  Tensor add_input(const Tensor& original) {
    auto node = std::make_shared<Node>();
    node->op = &op_input;
    node->types = {original.type()};
    node->scope = original.node()->scope;
    Tensor input(adopt(std::move(node)), 0);
    graph.inputs.push_back(input);
    return input;
  }
  std::shared_ptr<Node> adopt(std::shared_ptr<Node> node) {
    node->id = static_cast<int>(graph.nodes.size());
    graph.nodes.push_back(node);
    return node;
  }
  Graph graph;
};

// Key of one output of one node.
struct ValueKey {
  const Node* node;
  int output;
  bool operator==(const ValueKey&) const = default;
};
struct ValueKeyHash {
  size_t operator()(const ValueKey& k) const {
    return hash_combine(reinterpret_cast<uintptr_t>(k.node), static_cast<uint64_t>(k.output));
  }
};
using ValueMap = std::unordered_map<ValueKey, Tensor, ValueKeyHash>;

ValueKey key(const Tensor& t) {
  return {t.node().get(), t.output()};
}

}  // namespace

Graph build_graph(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                  std::vector<Tensor>* captured) {
  Builder builder;
  ValueMap values;
  for (const Tensor& input : inputs) values[key(input)] = builder.add_input(input);
  std::vector<std::shared_ptr<Node>> nodes = reachable(outputs);
  // Captured values come first so that all inputs precede all other nodes.
  for (const auto& node : nodes) {
    if (!is_leaf(*node)) continue;
    for (size_t i = 0; i < node->types.size(); ++i) {
      Tensor value(node, static_cast<int>(i));
      if (values.contains(key(value))) continue;
      if (node->values.empty()) {
        throw Error("graph", "an input of type {} has no value here; pass it as an argument",
                    to_string(value.type()));
      }
      CENTAVO_CHECK(captured, "a value is used that is no input of the graph");
      captured->push_back(value);
      values[key(value)] = builder.add_input(value);
    }
  }
  for (const auto& node : nodes) {
    if (is_leaf(*node)) continue;
    auto copy = clone(*node);
    for (const Tensor& input : node->inputs) copy->inputs.push_back(values.at(key(input)));
    builder.adopt(copy);
    for (size_t i = 0; i < node->types.size(); ++i) {
      values[{node.get(), static_cast<int>(i)}] = Tensor(copy, static_cast<int>(i));
    }
  }
  for (const Tensor& output : outputs) builder.graph.outputs.push_back(values.at(key(output)));
  builder.graph.aliases.assign(outputs.size(), -1);
  return std::move(builder.graph);
}

Graph rewrite(const Graph& graph, const Rewriter& rewriter) {
  std::vector<std::vector<Tensor>> replaced(graph.nodes.size());
  std::vector<Tensor> inputs;
  for (const Tensor& input : graph.inputs) {
    Tensor fresh = make_input(input.type());
    fresh.node()->scope = input.node()->scope;
    replaced[static_cast<size_t>(input.node()->id)] = {fresh};
    inputs.push_back(fresh);
  }
  auto map = [&](const Tensor& t) {
    return replaced[static_cast<size_t>(t.node()->id)][static_cast<size_t>(t.output())];
  };
  for (const auto& node : graph.nodes) {
    if (node->op == &op_input) continue;
    std::vector<Tensor> args;
    for (const Tensor& input : node->inputs) args.push_back(map(input));
    NameScope scope(node->scope);
    std::vector<Tensor> outputs = rewriter(*node, args);
    if (outputs.empty()) outputs = record(*node->op, args, node->attrs, node->loc);
    CENTAVO_CHECK(outputs.size() == node->types.size(), "rewriting {}", node->op->name);
    replaced[static_cast<size_t>(node->id)] = std::move(outputs);
  }
  std::vector<Tensor> outputs;
  for (const Tensor& output : graph.outputs) outputs.push_back(map(output));
  Graph result = build_graph(inputs, outputs);
  result.aliases = graph.aliases;
  return result;
}

std::vector<Tensor> inline_graph(const Graph& graph, const std::vector<Tensor>& inputs) {
  CENTAVO_CHECK(inputs.size() == graph.inputs.size());
  std::vector<std::vector<Tensor>> values(graph.nodes.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    values[static_cast<size_t>(graph.inputs[i].node()->id)] = {inputs[i]};
  auto map = [&](const Tensor& t) {
    return values[static_cast<size_t>(t.node()->id)][static_cast<size_t>(t.output())];
  };
  for (const auto& node : graph.nodes) {
    if (node->op == &op_input) continue;
    std::vector<Tensor> args;
    for (const Tensor& input : node->inputs) args.push_back(map(input));
    values[static_cast<size_t>(node->id)] =
        record(*node->op, std::move(args), node->attrs, node->loc);
  }
  std::vector<Tensor> outputs;
  for (const Tensor& output : graph.outputs) outputs.push_back(map(output));
  return outputs;
}

uint64_t structural_hash(const Graph& graph) {
  auto hash_value = [](uint64_t h, const Tensor& t) {
    return hash_combine(hash_combine(h, static_cast<uint64_t>(t.node()->id)),
                        static_cast<uint64_t>(t.output()));
  };
  uint64_t h = graph.nodes.size();
  for (const auto& node : graph.nodes) {
    h = hash_bytes(h, node->op->name.data(), node->op->name.size());
    h = hash_combine(h, hash_of(node->attrs));
    for (const TensorType& type : node->types) {
      h = hash_combine(h, static_cast<uint64_t>(type.dtype));
      h = hash_bytes(h, type.shape.dims().data(), type.shape.dims().size() * sizeof(int64_t));
    }
    for (const Tensor& input : node->inputs) h = hash_value(h, input);
  }
  for (const Tensor& output : graph.outputs) h = hash_value(h, output);
  for (int alias : graph.aliases) h = hash_combine(h, static_cast<uint64_t>(alias + 1));
  return h;
}

std::string to_string(const Graph& graph) {
  auto name = [](const Tensor& t) {
    return t.node()->types.size() > 1 ? fmt::format("%{}.{}", t.node()->id, t.output())
                                      : fmt::format("%{}", t.node()->id);
  };
  auto names = [&](const std::vector<Tensor>& tensors) {
    std::vector<std::string> parts;
    for (const Tensor& t : tensors) parts.push_back(name(t));
    return fmt::format("{}", fmt::join(parts, ", "));
  };
  std::string text;
  for (const auto& node : graph.nodes) {
    std::vector<std::string> types;
    for (const TensorType& type : node->types) types.push_back(to_string(type));
    std::string attrs = to_string(node->attrs);
    text += fmt::format("%{} = {} {} ({}){}{}\n", node->id, node->op->name, fmt::join(types, ", "),
                        names(node->inputs), attrs.empty() ? "" : " {" + attrs + "}",
                        node->scope.empty() ? "" : "  # " + node->scope);
  }
  return text + "return " + names(graph.outputs) + "\n";
}

void verify(const Graph& graph, std::string_view after) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = *graph.nodes[i];
    CENTAVO_CHECK(node.id == static_cast<int>(i), "{}: node {} has id {}", after, i, node.id);
    if (node.op == &op_input) continue;
    for (const Tensor& input : node.inputs) {
      int id = input.node()->id;
      CENTAVO_CHECK(id >= 0 && id < node.id && graph.nodes[static_cast<size_t>(id)] == input.node(),
                    "{}: {} (node {}) uses a value that does not come before it", after,
                    node.op->name, i);
    }
    std::vector<TensorType> types =
        node.op->infer(InferArgs{*node.op, node.inputs, node.attrs, node.loc});
    CENTAVO_CHECK(types == node.types, "{}: types of {} (node {})", after, node.op->name, i);
  }
  CENTAVO_CHECK(graph.aliases.size() == graph.outputs.size(), "{}: aliases", after);
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    if (graph.aliases[i] < 0) continue;
    CENTAVO_CHECK(
        graph.outputs[i].type() == graph.inputs[static_cast<size_t>(graph.aliases[i])].type(),
        "{}: output {} aliases an input of another type", after, i);
  }
}

std::vector<std::vector<int>> users_of(const Graph& graph) {
  std::vector<std::vector<int>> users(graph.nodes.size());
  for (const auto& node : graph.nodes) {
    for (const Tensor& input : node->inputs)
      users[static_cast<size_t>(input.node()->id)].push_back(node->id);
  }
  return users;
}

}  // namespace centavo
