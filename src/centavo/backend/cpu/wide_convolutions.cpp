#include "centavo/backend/cpu/wide_convolutions.h"

#include <algorithm>

#include "centavo/ops/elementwise.h"
#include "centavo/ops/registry.h"

namespace centavo::cpu {
namespace {

bool is_rewritten(const Node& node, CpuLevel level) {
  const bool convolves = node.op == &op_convolution || node.op == &op_convolution_input_grad ||
                         node.op == &op_convolution_weight_grad;
  return convolves && level < CpuLevel::kAvx512 &&
         std::ranges::any_of(node.inputs,
                             [](const Tensor& t) { return t.dtype() == DType::kBF16; });
}

// The node in fp32, on these inputs.
Tensor widened(const Node& node, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> wide;
  for (const Tensor& t : inputs) wide.push_back(convert(t, DType::kF32));
  Attrs attrs = node.attrs;
  if (node.op == &op_convolution_weight_grad) attrs.set("dtype", DType::kF32);
  return record1(*node.op, wide, attrs);
}

}  // namespace

Graph wide_convolutions(const Graph& graph, CpuLevel level) {
  return rewrite(graph, [&](const Node& node, const std::vector<Tensor>& in) {
    if (!is_rewritten(node, level)) return std::vector<Tensor>{};
    return std::vector<Tensor>{convert(widened(node, in), node.types[0].dtype)};
  });
}

std::shared_ptr<const Node> wide_convolution(const Node& node, CpuLevel level) {
  return is_rewritten(node, level) ? widened(node, node.inputs).node() : nullptr;
}

}  // namespace centavo::cpu
