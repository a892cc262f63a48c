// Op: the record that holds the whole truth about one kind of operation, and the registry of all of
// them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "centavo/ir/array.h"
#include "centavo/ir/tensor.h"

namespace centavo {

// What infer sees; fail() throws the user's Error.
struct InferArgs {
  const Op& op;
  std::span<const Tensor> inputs;
  const Attrs& attrs;
  const Loc& loc;

  const TensorType& type(size_t i) const { return inputs[i].type(); }
  const Shape& shape(size_t i) const { return inputs[i].shape(); }
  DType dtype(size_t i) const { return inputs[i].dtype(); }
  void expect_inputs(size_t count) const;
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    fail_with(fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  [[noreturn]] void fail_with(const std::string& message) const;
};

// What a gradient rule sees: the node's inputs and outputs, and d(loss)/d(output) for each output
// (undefined where nothing depends on it). It returns one tensor per input, undefined for no
// gradient.
struct VjpArgs {
  const std::vector<Tensor>& inputs;
  const std::vector<Tensor>& outputs;
  const std::vector<Tensor>& grads;
  const Attrs& attrs;
  std::vector<bool> needs;  // per input: is its gradient wanted?
};

struct Cost {
  double flops = 0;  // multiply and add count as two
  double bytes = 0;  // least traffic to memory: inputs read once, outputs written once
};

// One input of a test case: its type and the range its values are drawn from.
struct CaseInput {
  TensorType type;
  double low = -1, high = 1;
  bool differentiate = true;  // check its gradient (floating types only)
};

// A test case of an op: conformance, gradient and speed tests all come from these.
struct Case {
  std::string label;
  std::vector<CaseInput> inputs;
  Attrs attrs;
  double tolerance = 1e-5;  // fp32, relative to the largest reference value of the output
  bool gradient = true;     // has a gradient that central differences can judge
};

struct Op {
  std::string_view name;
  // All checks and the result types: the only shape rule.
  std::vector<TensorType> (*infer)(const InferArgs&);
  // Gradient, written with the public tensor functions; null for ops without one.
  std::vector<Tensor> (*vjp)(const VjpArgs&) = nullptr;
  // Composites: the same values from primitives.
  std::vector<Tensor> (*decompose)(std::span<const Tensor>, const Attrs&) = nullptr;
  // Primitives: the obvious loop, in double.
  std::vector<Array> (*eval)(std::span<const Array>, const Node&) = nullptr;
  // FLOPs and bytes; null counts one operation per output element.
  Cost (*cost)(const Node&) = nullptr;
  std::vector<Case> (*cases)() = nullptr;
  bool elementwise = false;  // one output, of the inputs' shape, element by element
};

// Every op of ops/list.def, in that order.
std::span<const Op* const> all_ops();
// Null when there is none of that name.
const Op* find_op(std::string_view name);
// The cost of one recorded node by its op's rule.
Cost cost_of(const Node& node);

// The op of graph inputs; not in list.def since nothing computes it.
extern const Op op_input;

}  // namespace centavo
