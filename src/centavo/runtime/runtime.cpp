// eval and compiled functions: record, look up or compile, launch.
#include "centavo/runtime/runtime.h"

#include <map>
#include <mutex>

#include "centavo/base/log.h"
#include "centavo/ir/op.h"
#include "centavo/runtime/executable_cache.h"
#include "centavo/runtime/metrics.h"

namespace centavo {
namespace {

std::mutex default_mutex;
Device& default_slot() {
  static Device device;
  return device;
}

const BufferPtr& buffer_of(const Tensor& t) {
  const BufferPtr& buffer = t.node()->values[static_cast<size_t>(t.output())];
  if (!buffer)
    throw Error("runtime", "a value of {} was donated to a compiled function and is gone",
                to_string(t.type()));
  return buffer;
}

bool has_value(const Tensor& t) {
  return !t.node()->values.empty();
}

std::vector<BufferPtr> buffers_of(const std::vector<Tensor>& tensors) {
  std::vector<BufferPtr> buffers;
  for (const Tensor& t : tensors) buffers.push_back(buffer_of(t));
  return buffers;
}

}  // namespace

Device default_device() {
  std::lock_guard lock(default_mutex);
  if (!default_slot()) default_slot() = open_device("cpu");
  return default_slot();
}

void set_default_device(Device device) {
  std::lock_guard lock(default_mutex);
  default_slot() = std::move(device);
}

Tensor from_buffer(BufferPtr buffer) {
  Tensor t = make_input(buffer->type());
  t.node()->values = {std::move(buffer)};
  return t;
}

Tensor from_host(const TensorType& type, const void* bytes, const Device& device) {
  return from_buffer(device->upload(type, bytes));
}

void eval(const std::vector<Tensor>& tensors, const Device& device) {
  // All outputs of a node get their values together, so that its inputs can be let go.
  std::vector<Tensor> wanted;
  std::vector<std::shared_ptr<Node>> nodes;
  for (const Tensor& t : tensors) {
    if (has_value(t) || std::find(nodes.begin(), nodes.end(), t.node()) != nodes.end()) continue;
    nodes.push_back(t.node());
    for (size_t i = 0; i < t.node()->types.size(); ++i)
      wanted.emplace_back(t.node(), static_cast<int>(i));
  }
  if (wanted.empty()) return;
  std::vector<Tensor> captured;
  Graph graph = build_graph({}, wanted, &captured);
  std::vector<BufferPtr> outputs = cached_compile(graph, device)->run(buffers_of(captured));
  count("Execute");
  size_t at = 0;
  for (const auto& node : nodes) {
    for (size_t i = 0; i < node->types.size(); ++i) node->values.push_back(outputs[at++]);
    node->inputs.clear();
  }
}

void read(const Tensor& x, void* bytes) {
  if (!has_value(x)) eval({x});
  buffer_of(x)->read(bytes);
}

double item(const Tensor& x) {
  if (x.shape().elements() != 1)
    throw Error("item", "expects one element, got {}", to_string(x.type()));
  std::byte bytes[8];
  read(x, bytes);
  return Array::from_bytes(x.type(), bytes).number(0);
}

struct CompiledFunction::Entry {
  Graph graph;
  std::vector<Tensor> captured;
  std::shared_ptr<Executable> executable;
};

struct CompiledFunction::State {
  Body body;
  FunctionOptions options;
  std::mutex mutex;
  std::vector<std::pair<std::vector<TensorType>, Entry>> entries;
};

CompiledFunction::CompiledFunction(Body body, FunctionOptions options)
    : state_(std::make_shared<State>()) {
  state_->body = std::move(body);
  state_->options = std::move(options);
  if (!state_->options.device) state_->options.device = default_device();
}

CompiledFunction::Entry& CompiledFunction::entry(const std::vector<TensorType>& types) {
  for (auto& [known, found] : state_->entries) {
    if (known == types) return found;
  }
  if (!state_->entries.empty()) {
    const std::vector<TensorType>& before = state_->entries.back().first;
    for (size_t i = 0; i < std::max(before.size(), types.size()); ++i) {
      std::string old_type = i < before.size() ? to_string(before[i]) : "none",
                  new_type = i < types.size() ? to_string(types[i]) : "none";
      if (old_type == new_type) continue;
      log_info("recompiling {}: argument {} was {}, is {}", state_->options.name, i, old_type,
               new_type);
      break;
    }
  }
  std::vector<Tensor> inputs;
  for (const TensorType& type : types) inputs.push_back(make_input(type));
  Entry fresh;
  fresh.graph = build_graph(inputs, state_->body(inputs), &fresh.captured);
  for (auto [output, argument] : state_->options.donate) {
    CENTAVO_CHECK(output < static_cast<int>(fresh.graph.outputs.size()) &&
                  argument < static_cast<int>(types.size()));
    if (fresh.graph.outputs[static_cast<size_t>(output)].type() ==
        types[static_cast<size_t>(argument)]) {
      fresh.graph.aliases[static_cast<size_t>(output)] = argument;
    }
  }
  state_->entries.emplace_back(types, std::move(fresh));
  return state_->entries.back().second;
}

Executable& CompiledFunction::compiled(Entry& entry) {
  if (!entry.executable) entry.executable = cached_compile(entry.graph, state_->options.device);
  return *entry.executable;
}

std::vector<Tensor> CompiledFunction::operator()(const std::vector<Tensor>& arguments) {
  CENTAVO_CHECK(state_, "an empty compiled function was called");
  std::lock_guard lock(state_->mutex);
  eval(arguments, state_->options.device);
  std::vector<TensorType> types;
  for (const Tensor& argument : arguments) types.push_back(argument.type());
  Entry& found = entry(types);
  Executable& program = compiled(found);
  std::vector<BufferPtr> inputs = buffers_of(arguments);
  for (const BufferPtr& captured : buffers_of(found.captured)) inputs.push_back(captured);
  std::vector<BufferPtr> buffers = program.run(inputs);
  count("Execute");
  for (int alias : found.graph.aliases) {
    if (alias < 0) continue;
    const Tensor& argument = arguments[static_cast<size_t>(alias)];
    argument.node()->values[static_cast<size_t>(argument.output())] = nullptr;
  }
  std::vector<Tensor> outputs;
  for (BufferPtr& buffer : buffers) outputs.push_back(from_buffer(std::move(buffer)));
  return outputs;
}

Executable& CompiledFunction::executable(const std::vector<TensorType>& types) {
  std::lock_guard lock(state_->mutex);
  return compiled(entry(types));
}

const Graph& CompiledFunction::graph(const std::vector<TensorType>& types) {
  std::lock_guard lock(state_->mutex);
  return entry(types).graph;
}

CompiledFunction compile(CompiledFunction::Body body, FunctionOptions options) {
  return CompiledFunction(std::move(body), std::move(options));
}

}  // namespace centavo
