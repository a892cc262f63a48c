// The reverse walk.
#include "centavo/autodiff/grad.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "centavo/ir/op.h"
#include "centavo/ops/creation.h"
#include "centavo/ops/elementwise.h"

namespace centavo {
namespace {

// Nodes between `targets` and `outputs`: those the outputs need and that depend on a target, in
// program order.
std::vector<std::shared_ptr<Node>> nodes_between(const std::vector<Tensor>& outputs,
                                                 const std::vector<Tensor>& targets) {
  std::unordered_set<Node*> seen, dependent;
  std::vector<std::shared_ptr<Node>> stack, found;
  for (const Tensor& t : targets) dependent.insert(t.node().get());
  for (const Tensor& t : outputs) {
    if (seen.insert(t.node().get()).second) stack.push_back(t.node());
  }
  while (!stack.empty()) {
    std::shared_ptr<Node> node = std::move(stack.back());
    stack.pop_back();
    for (const Tensor& input : node->inputs) {
      if (seen.insert(input.node().get()).second) stack.push_back(input.node());
    }
    found.push_back(std::move(node));
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a->sequence < b->sequence; });
  std::vector<std::shared_ptr<Node>> between;
  for (const auto& node : found) {
    bool depends = std::any_of(node->inputs.begin(), node->inputs.end(),
                               [&](const Tensor& t) { return dependent.contains(t.node().get()); });
    if (!depends) continue;
    dependent.insert(node.get());
    between.push_back(node);
  }
  return between;
}

class Gradients {
 public:
  void add(const Tensor& value, const Tensor& gradient) {
    Tensor& total = slots(*value.node())[static_cast<size_t>(value.output())];
    CENTAVO_CHECK(gradient.type() == value.type(), "gradient {} of a value {}",
                  to_string(gradient.type()), to_string(value.type()));
    total = total.defined() ? total + gradient : gradient;
  }
  std::vector<Tensor>& slots(const Node& node) {
    auto& list = slots_[&node];
    list.resize(node.types.size());
    return list;
  }

 private:
  std::unordered_map<const Node*, std::vector<Tensor>> slots_;
};

void step_back(const std::shared_ptr<Node>& node, const std::unordered_set<const Node*>& wanted,
               Gradients& gradients) {
  const std::vector<Tensor> grads = gradients.slots(*node);
  if (std::none_of(grads.begin(), grads.end(), [](const Tensor& g) { return g.defined(); })) return;
  if (!node->op->vjp) throw Error(node->op->name, "has no gradient");
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < node->types.size(); ++i) outputs.emplace_back(node, static_cast<int>(i));
  std::vector<bool> needs;
  for (const Tensor& input : node->inputs)
    needs.push_back(wanted.contains(input.node().get()) && is_floating(input.dtype()));
  NameScope scope(node->scope);
  std::vector<Tensor> results =
      node->op->vjp(VjpArgs{node->inputs, outputs, grads, node->attrs, needs});
  CENTAVO_CHECK(results.size() == node->inputs.size(), "gradient rule of {}", node->op->name);
  for (size_t i = 0; i < results.size(); ++i) {
    if (needs[i] && results[i].defined()) gradients.add(node->inputs[i], results[i]);
  }
}

}  // namespace

std::vector<Tensor> vjp(const std::vector<Tensor>& outputs, const std::vector<Tensor>& cotangents,
                        const std::vector<Tensor>& with_respect_to) {
  CENTAVO_CHECK(outputs.size() == cotangents.size());
  std::vector<std::shared_ptr<Node>> between = nodes_between(outputs, with_respect_to);
  std::unordered_set<const Node*> wanted;
  for (const auto& node : between) wanted.insert(node.get());
  for (const Tensor& t : with_respect_to) wanted.insert(t.node().get());
  Gradients gradients;
  for (size_t i = 0; i < outputs.size(); ++i) gradients.add(outputs[i], cotangents[i]);
  for (size_t i = between.size(); i-- > 0;) step_back(between[i], wanted, gradients);
  std::vector<Tensor> results;
  for (const Tensor& t : with_respect_to) {
    Tensor g = gradients.slots(*t.node())[static_cast<size_t>(t.output())];
    results.push_back(g.defined() ? g : full_like(t, 0));
  }
  return results;
}

std::vector<Tensor> grad(const Tensor& loss, const std::vector<Tensor>& with_respect_to) {
  if (!loss.defined() || loss.rank() != 0 || !is_floating(loss.dtype())) {
    throw Error("grad", "expects a floating scalar loss, got {}; take its mean or sum first",
                loss.defined() ? to_string(loss.type()) : "nothing");
  }
  return vjp({loss}, {full_like(loss, 1)}, with_respect_to);
}

std::function<std::pair<Tensor, std::vector<Tensor>>(const std::vector<Tensor>&)> value_and_grad(
    LossFunction f) {
  return [f = std::move(f)](const std::vector<Tensor>& parameters) {
    Tensor loss = f(parameters);
    return std::pair(loss, grad(loss, parameters));
  };
}

}  // namespace centavo
