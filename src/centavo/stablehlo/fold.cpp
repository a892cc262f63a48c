// Folding of constants through the ops' own evaluators.
#include "centavo/stablehlo/fold.h"

#include <unordered_map>

#include "centavo/ops/ops.h"
#include "centavo/ops/registry.h"

namespace centavo::stablehlo {
namespace {

constexpr int64_t kMostElements = 4096;
constexpr int kMostNodes = 256;

// The outputs of `node`, or nothing. `known` remembers both.
class Folder {
 public:
  const std::vector<Array>* outputs(const Node& node) {
    auto [at, fresh] = known_.try_emplace(&node);
    if (fresh && can_fold(node)) {
      std::optional<std::vector<Array>> values = evaluate(node);
      at = known_.find(&node);
      at->second = std::move(values);
    }
    return at->second ? &*at->second : nullptr;
  }

 private:
  bool can_fold(const Node& node) const {
    if (!node.op->eval || node.op == &op_all_reduce || known_.size() > kMostNodes) return false;
    for (const TensorType& type : node.types) {
      if (type.shape.elements() > kMostElements) return false;
    }
    return true;
  }

  std::optional<std::vector<Array>> evaluate(const Node& node) {
    std::vector<Array> inputs;
    for (const Tensor& input : node.inputs) {
      const std::vector<Array>* values = outputs(*input.node());
      if (!values) return std::nullopt;
      inputs.push_back((*values)[static_cast<size_t>(input.output())]);
    }
    std::vector<Array> results = node.op->eval(inputs, node);
    for (Array& result : results) result = rounded(result);
    return results;
  }

  // Evaluators keep double precision; a constant has its dtype's.
  static Array rounded(const Array& value) {
    std::vector<std::byte> bytes(static_cast<size_t>(value.type.bytes()));
    value.to_bytes(bytes.data());
    return Array::from_bytes(value.type, bytes.data());
  }

  std::unordered_map<const Node*, std::optional<std::vector<Array>>> known_;
};

}  // namespace

std::optional<Array> fold(const Tensor& x) {
  const std::vector<Array>* values = nullptr;
  Folder folder;
  values = folder.outputs(*x.node());
  if (!values) return std::nullopt;
  return (*values)[static_cast<size_t>(x.output())];
}

Tensor folded(const Tensor& x) {
  if (x.node()->op == &op_constant) return x;
  const std::optional<Array> value = fold(x);
  if (!value) return x;
  std::vector<std::byte> bytes(static_cast<size_t>(x.type().bytes()));
  value->to_bytes(bytes.data());
  return constant(Literal(x.type(), std::move(bytes)));
}

std::optional<double> scalar_value(const Tensor& x) {
  if (x.shape().elements() != 1) return std::nullopt;
  const std::optional<Array> value = fold(x);
  if (!value) return std::nullopt;
  return value->number(0);
}

}  // namespace centavo::stablehlo
