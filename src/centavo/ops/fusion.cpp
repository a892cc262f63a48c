// fusion: several ops that a backend runs as one. Its body is a graph of its own; the kind says how
// it is run.
#include "centavo/ir/graph.h"
#include "centavo/ops/registry.h"

namespace centavo {

const Op op_fusion = {
    .name = "fusion",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      const Graph& body = args.attrs.graph("body");
      args.expect_inputs(body.inputs.size());
      for (size_t i = 0; i < body.inputs.size(); ++i) {
        if (args.type(i) != body.inputs[i].type()) {
          args.fail("input {} expects {}, got {}", i, to_string(body.inputs[i].type()),
                    to_string(args.type(i)));
        }
      }
      std::vector<TensorType> types;
      for (const Tensor& output : body.outputs) types.push_back(output.type());
      return types;
    },
    .decompose = [](std::span<const Tensor> in, const Attrs& attrs) -> std::vector<Tensor> {
      return inline_graph(attrs.graph("body"), {in.begin(), in.end()});
    },
    .cost = [](const Node& node) -> Cost {
      Cost cost;
      for (const auto& inner : node.attrs.graph("body").nodes) {
        if (inner->op != &op_input) cost.flops += cost_of(*inner).flops;
      }
      for (const Tensor& input : node.inputs)
        cost.bytes += static_cast<double>(input.type().bytes());
      for (const TensorType& type : node.types) cost.bytes += static_cast<double>(type.bytes());
      return cost;
    },
    // Made by the fuse pass only; its conformance test is that fused graphs equal unfused ones.
    .cases = []() -> std::vector<Case> { return {}; },
};

}  // namespace centavo
