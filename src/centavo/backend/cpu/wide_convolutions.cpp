#include "centavo/backend/cpu/wide_convolutions.h"

#include <algorithm>

#include "centavo/ops/elementwise.h"
#include "centavo/ops/registry.h"

namespace centavo::cpu {

Graph wide_convolutions(const Graph& graph, CpuLevel level) {
  if (level >= CpuLevel::kAvx512) return graph;
  return rewrite(graph, [](const Node& node, const std::vector<Tensor>& in) -> std::vector<Tensor> {
    const bool convolves = node.op == &op_convolution || node.op == &op_convolution_input_grad ||
                           node.op == &op_convolution_weight_grad;
    const bool narrow =
        std::ranges::any_of(in, [](const Tensor& t) { return t.dtype() == DType::kBF16; });
    if (!convolves || !narrow) return {};
    std::vector<Tensor> wide;
    for (const Tensor& t : in) wide.push_back(convert(t, DType::kF32));
    Attrs attrs = node.attrs;
    if (node.op == &op_convolution_weight_grad) attrs.set("dtype", DType::kF32);
    return {convert(record1(*node.op, wide, attrs), node.types[0].dtype)};
  });
}

}  // namespace centavo::cpu
