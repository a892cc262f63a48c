// Recording: nodes, scopes, and the checks of an op's rules at call time.
#include "centavo/ir/tensor.h"

#include "centavo/ir/op.h"

namespace centavo {
namespace {

std::atomic<uint64_t> next_sequence{1};
thread_local std::string current_scope;

std::shared_ptr<Node> new_node(const Op& op) {
  auto node = std::make_shared<Node>();
  node->op = &op;
  node->scope = current_scope;
  node->sequence = next_sequence.fetch_add(1, std::memory_order_relaxed);
  return node;
}

}  // namespace

const TensorType& Tensor::type() const {
  CENTAVO_CHECK(node_, "an undefined tensor has no type");
  return node_->types[static_cast<size_t>(output_)];
}

Node::~Node() {
  // Children that only this node holds are moved to a list and freed in turn, not by recursion.
  std::vector<Tensor> pending = std::move(inputs);
  while (!pending.empty()) {
    Tensor last = std::move(pending.back());
    pending.pop_back();
    if (!last.defined() || last.node().use_count() != 1) continue;
    for (Tensor& input : last.node()->inputs) pending.push_back(std::move(input));
    last.node()->inputs.clear();
  }
}

std::vector<Tensor> record(const Op& op, std::vector<Tensor> inputs, Attrs attrs, const Loc& loc) {
  auto node = new_node(op);
  InferArgs args{op, inputs, attrs, loc};
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) args.fail("input {} is undefined", i);
  }
  node->types = op.infer(args);
  node->inputs = std::move(inputs);
  node->attrs = std::move(attrs);
  node->loc = loc;
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < node->types.size(); ++i) outputs.emplace_back(node, static_cast<int>(i));
  return outputs;
}

Tensor record1(const Op& op, std::vector<Tensor> inputs, Attrs attrs, const Loc& loc) {
  std::vector<Tensor> outputs = record(op, std::move(inputs), std::move(attrs), loc);
  CENTAVO_CHECK(outputs.size() == 1, "{} has {} outputs", op.name, outputs.size());
  return outputs[0];
}

Tensor make_input(const TensorType& type) {
  auto node = new_node(op_input);
  node->types = {type};
  return Tensor(node, 0);
}

NameScope::NameScope(std::string_view name) : parent_size_(current_scope.size()) {
  if (!current_scope.empty() && !name.empty()) current_scope += '.';
  current_scope += name;
}
NameScope::~NameScope() {
  current_scope.resize(parent_size_);
}
const std::string& NameScope::current() {
  return current_scope;
}

const Op op_input = {
    .name = "input",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.fail("inputs are not recorded");
    },
};

void InferArgs::expect_inputs(size_t count) const {
  if (inputs.size() != count) fail("expects {} inputs, got {}", count, inputs.size());
}

void InferArgs::fail_with(const std::string& message) const {
  std::string place = to_string(loc);
  const std::string& scope = NameScope::current();
  std::string where = scope.empty() ? place : place.empty() ? scope : scope + ", " + place;
  throw Error(fmt::format("[{}] {}{}", op.name, message, where.empty() ? "" : " (" + where + ")"));
}

Cost cost_of(const Node& node) {
  if (node.op->cost) return node.op->cost(node);
  Cost cost;
  for (const Tensor& input : node.inputs) cost.bytes += static_cast<double>(input.type().bytes());
  for (const TensorType& type : node.types) {
    cost.bytes += static_cast<double>(type.bytes());
    cost.flops += static_cast<double>(type.shape.elements());
  }
  return cost;
}

}  // namespace centavo
