// Interpretation of graphs over Array.
#include "centavo/backend/reference/reference_backend.h"

#include "centavo/base/timer.h"
#include "centavo/ir/op.h"

namespace centavo {
namespace {

class HostBuffer : public Buffer {
 public:
  HostBuffer(const TensorType& type, Array array) : Buffer(type), array_(std::move(array)) {}
  void wait() const override {}
  void read(void* bytes) const override { array_.to_bytes(bytes); }
  const Array& array() const { return array_; }

 private:
  Array array_;
};

class Interpreter : public Executable {
 public:
  explicit Interpreter(Graph graph) : graph_(std::move(graph)) {
    for (const Tensor& input : graph_.inputs) info_.argument_bytes += input.type().bytes();
    for (const Tensor& output : graph_.outputs) info_.output_bytes += output.type().bytes();
    info_.kernels = static_cast<int64_t>(graph_.nodes.size() - graph_.inputs.size());
  }
  std::vector<BufferPtr> run(const std::vector<BufferPtr>& inputs) override {
    std::vector<Array> arrays;
    for (const BufferPtr& input : inputs)
      arrays.push_back(static_cast<const HostBuffer&>(*input).array());
    std::vector<Array> results = interpret(graph_, arrays);
    std::vector<BufferPtr> outputs;
    for (Array& result : results) {
      TensorType type = result.type;
      outputs.push_back(std::make_shared<HostBuffer>(type, std::move(result)));
    }
    return outputs;
  }
  const ExecutableInfo& info() const override { return info_; }

 private:
  Graph graph_;
  ExecutableInfo info_;
};

class ReferenceBackend : public Backend {
 public:
  std::string name() const override { return "reference"; }
  std::string description() const override { return "interpreter in double precision, one thread"; }
  std::string fingerprint() const override { return "reference"; }
  std::unique_ptr<Executable> compile(const Graph& graph) override {
    return std::make_unique<Interpreter>(rewrite(
        graph, [](const Node&, const std::vector<Tensor>&) { return std::vector<Tensor>(); }));
  }
  BufferPtr upload(const TensorType& type, const void* bytes) override {
    return std::make_shared<HostBuffer>(type, Array::from_bytes(type, bytes));
  }
  void synchronize() override {}
};

// Composites run as the graph of their decomposition.
std::vector<Array> evaluate(const Node& node, const std::vector<Array>& inputs) {
  if (node.op->eval) return node.op->eval(inputs, node);
  CENTAVO_CHECK(node.op->decompose, "{} has neither eval nor decompose", node.op->name);
  std::vector<Tensor> arguments;
  for (const Array& input : inputs) arguments.push_back(make_input(input.type));
  return interpret(build_graph(arguments, node.op->decompose(arguments, node.attrs)), inputs);
}

}  // namespace

std::vector<Array> interpret(const Graph& graph, const std::vector<Array>& inputs) {
  CENTAVO_CHECK(inputs.size() == graph.inputs.size());
  std::vector<std::vector<Array>> values(graph.nodes.size());
  std::vector<size_t> uses(graph.nodes.size(), 0);
  for (const auto& node : graph.nodes) {
    for (const Tensor& input : node->inputs) ++uses[static_cast<size_t>(input.node()->id)];
  }
  for (const Tensor& output : graph.outputs) ++uses[static_cast<size_t>(output.node()->id)];
  for (size_t i = 0; i < inputs.size(); ++i)
    values[static_cast<size_t>(graph.inputs[i].node()->id)] = {inputs[i]};
  for (const auto& node : graph.nodes) {
    if (node->op == &op_input) continue;
    std::vector<Array> arguments;
    for (const Tensor& input : node->inputs) {
      auto id = static_cast<size_t>(input.node()->id);
      arguments.push_back(values[id][static_cast<size_t>(input.output())]);
      if (--uses[id] == 0) values[id].clear();
    }
    values[static_cast<size_t>(node->id)] = evaluate(*node, arguments);
  }
  std::vector<Array> outputs;
  for (const Tensor& output : graph.outputs) {
    outputs.push_back(
        values[static_cast<size_t>(output.node()->id)][static_cast<size_t>(output.output())]);
  }
  return outputs;
}

Device make_reference_backend() {
  return std::make_shared<ReferenceBackend>();
}

}  // namespace centavo
