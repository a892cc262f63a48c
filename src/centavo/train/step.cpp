// Recording of the training step.
#include "centavo/train/step.h"

#include <algorithm>
#include <map>

#include "centavo/autodiff/grad.h"
#include "centavo/data/mix.h"
#include "centavo/ir/op.h"
#include "centavo/ops/ops.h"
#include "centavo/ops/registry.h"

namespace centavo {
namespace {

TensorType batched(const Shape& sample, int64_t n) {
  std::vector<int64_t> dims = sample.dims();
  dims.insert(dims.begin(), n);
  return {DType::kF32, Shape(dims)};
}

std::vector<int> trainable_indices(const Model& model) {
  std::vector<int> indices;
  const auto& specs = model.parameters().specs();
  for (size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].trainable) indices.push_back(static_cast<int>(i));
  }
  return indices;
}

Tensor mean_loss(const Tensor& logits, const Tensor& labels, const StepOptions& options) {
  NameScope scope("loss");
  const Tensor scores = convert(logits, DType::kF32);
  if (!options.mixed) return mean(cross_entropy(scores, labels, options.label_smoothing));
  const int64_t n = labels.shape()[1];
  auto row = [&](int64_t r) { return reshape(slice(labels, {r, 0}, {r + 1, n}), {n}); };
  auto loss = [&](int64_t r) { return cross_entropy(scores, row(r), options.label_smoothing); };
  const Tensor share = convert(row(2), DType::kF32) * data::kMixUnit;
  return mean(share * loss(0) + (1 - share) * loss(1));
}

std::vector<Tensor> select_indices(const std::vector<Tensor>& all,
                                   const std::vector<int>& indices) {
  std::vector<Tensor> some;
  for (int i : indices) some.push_back(all[static_cast<size_t>(i)]);
  return some;
}

// Replaces each tensor by its mean over the ranks, in buckets of about `bucket_bytes` in the order
// in which the tensors are made, so that a bucket is complete as early as it can be.
void average_over_ranks(const std::vector<Tensor*>& tensors, const StepOptions& options) {
  NameScope scope("all_reduce");
  std::vector<Tensor*> order = tensors;
  std::stable_sort(order.begin(), order.end(), [](const Tensor* a, const Tensor* b) {
    return a->node()->sequence < b->node()->sequence;
  });
  std::map<DType, std::vector<Tensor*>> open;
  auto close = [&](std::vector<Tensor*>& bucket) {
    std::vector<Tensor> values;
    for (const Tensor* t : bucket) values.push_back(*t);
    values = all_reduce(values, options.ranks(), 1.0 / options.ranks());
    for (size_t i = 0; i < bucket.size(); ++i) *bucket[i] = values[i];
    bucket.clear();
  };
  std::map<DType, int64_t> bytes;
  for (Tensor* t : order) {
    open[t->dtype()].push_back(t);
    bytes[t->dtype()] += t->type().bytes();
    if (bytes[t->dtype()] < options.bucket_bytes) continue;
    close(open[t->dtype()]);
    bytes[t->dtype()] = 0;
  }
  for (auto& [dtype, bucket] : open) {
    if (!bucket.empty()) close(bucket);
  }
}

// Arguments: parameters, optimizer state (by state, then by trainable parameter), images, labels,
// hyper, key, and of several ranks this one's vote. Outputs: loss, then parameters and state in the
// same order, then the mean vote.
std::vector<Tensor> record_step(const Model& model, const Optimizer& optimizer,
                                const StepOptions& options, const std::vector<Tensor>& arguments) {
  const std::vector<int> trainable = trainable_indices(model);
  const size_t states = optimizer.state_names().size();
  const size_t parameter_count = model.parameters().specs().size(),
               carried = parameter_count + states * trainable.size();
  std::vector<Tensor> parameters(arguments.begin(),
                                 arguments.begin() + static_cast<int64_t>(parameter_count));
  std::vector<Tensor> state(arguments.begin() + static_cast<int64_t>(parameter_count),
                            arguments.begin() + static_cast<int64_t>(carried));
  const Tensor &images = arguments[carried], &labels = arguments[carried + 1],
               &hyper = arguments[carried + 2];
  Context ctx(parameters, options.precision, true, arguments[carried + 3]);
  Tensor loss = mean_loss(model.forward(ctx, images), labels, options);
  std::vector<Tensor> gradients = grad(loss, select_indices(parameters, trainable));
  for (auto [buffer, value] : ctx.updates()) parameters[static_cast<size_t>(buffer.index)] = value;
  Tensor votes;
  if (options.ranks() > 1) {
    votes = arguments[carried + 4];
    std::vector<Tensor*> shared = {&loss, &votes};
    for (Tensor& gradient : gradients) shared.push_back(&gradient);
    for (const auto& update : ctx.updates())
      shared.push_back(&parameters[static_cast<size_t>(update.first.index)]);
    average_over_ranks(shared, options);
  }
  NameScope scope("optimizer");
  for (size_t t = 0; t < trainable.size(); ++t) {
    Tensor& parameter = parameters[static_cast<size_t>(trainable[t])];
    std::vector<Tensor> mine;
    for (size_t s = 0; s < states; ++s) mine.push_back(state[s * trainable.size() + t]);
    Optimizer::Update update = optimizer.update(parameter, gradients[t], mine, hyper);
    parameter = update.parameter;
    for (size_t s = 0; s < states; ++s) state[s * trainable.size() + t] = update.state[s];
  }
  std::vector<Tensor> outputs = {loss};
  outputs.insert(outputs.end(), parameters.begin(), parameters.end());
  outputs.insert(outputs.end(), state.begin(), state.end());
  if (votes.defined()) outputs.push_back(votes);
  return outputs;
}

std::vector<TensorType> argument_types(const Model& model, const Optimizer& optimizer,
                                       const StepOptions& options, int64_t batch_size) {
  std::vector<TensorType> types;
  const auto& specs = model.parameters().specs();
  for (const ParameterSpec& spec : specs)
    types.push_back({parameter_dtype(options.precision), spec.shape});
  for (size_t s = 0; s < optimizer.state_names().size(); ++s) {
    for (int i : trainable_indices(model)) types.push_back(types[static_cast<size_t>(i)]);
  }
  types.push_back(batched(model.input_shape(), batch_size));
  types.push_back(
      {DType::kI32, options.mixed ? Shape{data::kMixRows, batch_size} : Shape{batch_size}});
  types.push_back({DType::kF32, {static_cast<int64_t>(optimizer.hyper(1, 0).size())}});
  types.push_back({DType::kU32, {2}});
  if (options.ranks() > 1) types.push_back({DType::kF32, {}});
  return types;
}

// Replaces a tensor on the device by fp32 numbers in its own dtype.
void upload(Tensor& tensor, const std::vector<float>& values, const Device& device) {
  const TensorType type = tensor.type();
  CENTAVO_CHECK(static_cast<int64_t>(values.size()) == type.shape.elements());
  if (type.dtype == DType::kF32) {
    tensor = from_host(type, values.data(), device);
    return;
  }
  std::vector<bf16> rounded(values.begin(), values.end());
  tensor = from_host(type, rounded.data(), device);
}

Device device_or_default(Device device) {
  return device ? device : default_device();
}

}  // namespace

Graph training_graph(const Model& model, const Optimizer& optimizer, const StepOptions& options,
                     int64_t batch_size) {
  std::vector<Tensor> inputs;
  for (const TensorType& type : argument_types(model, optimizer, options, batch_size))
    inputs.push_back(make_input(type));
  Graph graph = build_graph(inputs, record_step(model, optimizer, options, inputs));
  // The loss comes first; parameters and state replace the arguments that they were made from.
  for (size_t i = 1; i < graph.aliases.size(); ++i) graph.aliases[i] = static_cast<int>(i) - 1;
  return graph;
}

TrainStep::TrainStep(const Model& model, const Optimizer& optimizer, const StepOptions& options)
    : model_(model),
      optimizer_(optimizer),
      options_(options),
      trainable_(trainable_indices(model)) {
  options_.device = device_or_default(options_.device);
  const DType dtype = parameter_dtype(options_.precision);
  for (const ParameterSpec& spec : model_.parameters().specs())
    parameters_.push_back(make_input({dtype, spec.shape}));
  for (size_t i = 0; i < parameters_.size(); ++i)
    set_parameter(i, initial_values(model_.parameters().specs()[i], options_.seed));
  for (size_t s = 0; s < optimizer_.state_names().size(); ++s) {
    for (int i : trainable_) {
      const TensorType type = parameters_[static_cast<size_t>(i)].type();
      std::vector<std::byte> zeros(static_cast<size_t>(type.bytes()));
      state_.push_back(from_host(type, zeros.data(), options_.device));
    }
  }
  broadcast();
  FunctionOptions function{.name = "training step", .device = options_.device};
  const auto carried = static_cast<int>(parameters_.size() + state_.size());
  for (int i = 0; i < carried; ++i) function.donate.emplace_back(i + 1, i);
  function_ = compile(
      [this](const std::vector<Tensor>& arguments) {
        return record_step(model_, optimizer_, options_, arguments);
      },
      function);
}

void TrainStep::set_parameter(size_t index, const std::vector<float>& values) {
  upload(parameters_[index], values, options_.device);
}

void TrainStep::set_state(size_t index, const std::vector<float>& values) {
  upload(state_[index], values, options_.device);
}

std::vector<std::string> TrainStep::state_names() const {
  std::vector<std::string> names;
  for (const std::string& state : optimizer_.state_names()) {
    for (int i : trainable_)
      names.push_back(model_.parameters().specs()[static_cast<size_t>(i)].name + "." + state);
  }
  return names;
}

void TrainStep::broadcast() {
  if (options_.ranks() == 1) return;
  options_.device->synchronize();
  auto share = [&](Tensor& tensor) {
    std::vector<std::byte> bytes(static_cast<size_t>(tensor.type().bytes()));
    read(tensor, bytes.data());
    options_.group->broadcast(bytes.data(), tensor.type().bytes(), 0);
    tensor = from_host(tensor.type(), bytes.data(), options_.device);
  };
  for (Tensor& parameter : parameters_) share(parameter);
  for (Tensor& state : state_) share(state);
}

Tensor TrainStep::run(const Tensor& images, const Tensor& labels, double lr) {
  ++steps_;
  std::vector<float> hyper = optimizer_.hyper(steps_, lr);
  // Ranks draw different dropout masks.
  const auto rank = static_cast<uint32_t>(options_.group ? options_.group->rank() : 0);
  std::vector<uint32_t> key = {static_cast<uint32_t>(options_.seed) + rank * 0x9e3779b9u,
                               static_cast<uint32_t>(steps_)};
  std::vector<Tensor> arguments = parameters_;
  arguments.insert(arguments.end(), state_.begin(), state_.end());
  arguments.push_back(images);
  arguments.push_back(labels);
  arguments.push_back(
      from_vector<float>({static_cast<int64_t>(hyper.size())}, hyper, options_.device));
  arguments.push_back(from_vector<uint32_t>({2}, key, options_.device));
  votes_ = from_vector<float>({}, {static_cast<float>(vote_)}, options_.device);
  const bool shared = options_.ranks() > 1;
  if (shared) arguments.push_back(votes_);
  std::vector<Tensor> outputs = function_(arguments);
  if (shared) {
    votes_ = outputs.back();
    outputs.pop_back();
  }
  auto carried = outputs.begin() + 1;
  std::copy(carried, carried + static_cast<int64_t>(parameters_.size()), parameters_.begin());
  std::copy(carried + static_cast<int64_t>(parameters_.size()), outputs.end(), state_.begin());
  return outputs[0];
}

Executable& TrainStep::executable(int64_t batch_size) {
  return function_.executable(argument_types(model_, optimizer_, options_, batch_size));
}

double TrainStep::matrix_flops(int64_t batch_size) const {
  std::vector<Tensor> values;
  for (const Tensor& t : parameters_) values.push_back(make_input(t.type()));
  Tensor images = make_input(batched(model_.input_shape(), batch_size)),
         key = make_input({DType::kU32, {2}});
  Context ctx(values, options_.precision, true, key);
  std::vector<Tensor> inputs = values;
  inputs.push_back(images);
  inputs.push_back(key);
  double flops = 0;
  for (const auto& node : build_graph(inputs, {model_.forward(ctx, images)}).nodes) {
    bool product =
        node->op == &op_dot_general || node->op == &op_attention || node->op == &op_convolution;
    if (product) flops += cost_of(*node).flops;
  }
  return 3 * flops;
}

CompiledFunction make_gradient_function(const Model& model, const StepOptions& options) {
  auto body = [&model, options](const std::vector<Tensor>& arguments) {
    std::vector<Tensor> parameters(arguments.begin(), arguments.end() - 3);
    Context ctx(parameters, options.precision, true, arguments.back());
    const Tensor &images = arguments[parameters.size()], &labels = arguments[parameters.size() + 1];
    Tensor loss = mean_loss(model.forward(ctx, images), labels, options);
    std::vector<Tensor> outputs = {loss};
    for (const Tensor& g : grad(loss, select_indices(parameters, trainable_indices(model))))
      outputs.push_back(convert(g, DType::kF32));
    return outputs;
  };
  return compile(body, {.name = "gradient", .device = device_or_default(options.device)});
}

}  // namespace centavo
