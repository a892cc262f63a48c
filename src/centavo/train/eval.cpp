// The evaluation step, and parameters in files.
#include <cstring>
#include <map>

#include "centavo/base/text.h"
#include "centavo/io/safetensors.h"
#include "centavo/ir/array.h"
#include "centavo/ops/ops.h"
#include "centavo/train/step.h"

namespace centavo {
namespace {

Tensor record_logits(const Model& model, const StepOptions& options,
                     const std::vector<Tensor>& arguments, size_t extra) {
  std::vector<Tensor> parameters(arguments.begin(), arguments.end() - static_cast<int64_t>(extra));
  Context ctx(parameters, options.precision, false);
  return convert(model.forward(ctx, arguments[parameters.size()]), DType::kF32);
}

// (parameters..., images, labels) -> f32 [4]: sum of losses, samples, top-1 hits, top-5 hits.
std::vector<Tensor> record_counts(const Model& model, const StepOptions& options,
                                  const std::vector<Tensor>& arguments) {
  Tensor logits = record_logits(model, options, arguments, 2);
  const Tensor& labels = arguments.back();
  Tensor valid = compare(labels, full_like(labels, 0), Comparison::kGe);
  Tensor safe = maximum(labels, full_like(labels, 0));
  auto spread = [&](const Tensor& x) { return broadcast_in_dim(x, logits.shape(), {0}); };
  Tensor classes = iota({DType::kI32, logits.shape()}, 1);
  Tensor is_label = compare(classes, spread(safe), Comparison::kEq);
  Tensor score = spread(sum(select(is_label, logits, full_like(logits, 0)), {1}));
  // The label's rank: how many classes score higher, or equal with a lower number.
  Tensor higher = convert(compare(logits, score, Comparison::kGt), DType::kF32);
  Tensor tie = logical_and(compare(logits, score, Comparison::kEq),
                           compare(classes, spread(safe), Comparison::kLt));
  Tensor rank = sum(higher + convert(tie, DType::kF32), {1});
  auto total = [&](const Tensor& x) {
    return reshape(sum(select(valid, x, full_like(x, 0))), {1});
  };
  auto hits = [&](double k) {
    return total(convert(compare(rank, full_like(rank, k), Comparison::kLt), DType::kF32));
  };
  return {concatenate(
      {total(cross_entropy(logits, safe)), total(full_like(rank, 1)), hits(1), hits(5)}, 0)};
}

std::vector<std::string> parameter_names(const Model& model) {
  std::vector<std::string> names;
  for (const ParameterSpec& spec : model.parameters().specs()) names.push_back(spec.name);
  return names;
}

}  // namespace

Graph prediction_graph(const Model& model, const StepOptions& options, int64_t batch_size) {
  std::vector<Tensor> inputs;
  for (const ParameterSpec& spec : model.parameters().specs())
    inputs.push_back(make_input({parameter_dtype(options.precision), spec.shape}));
  std::vector<int64_t> dims = model.input_shape().dims();
  dims.insert(dims.begin(), batch_size);
  inputs.push_back(make_input({DType::kF32, Shape(dims)}));
  return build_graph(inputs, {record_logits(model, options, inputs, 1)});
}

EvalStep::EvalStep(const Model& model, const StepOptions& options) : model_(model) {
  Device device = options.device ? options.device : default_device();
  count_ = compile(
      [this, options](const std::vector<Tensor>& arguments) {
        return record_counts(model_, options, arguments);
      },
      {.name = "evaluation step", .device = device});
  logits_ = compile(
      [this, options](const std::vector<Tensor>& arguments) -> std::vector<Tensor> {
        return {record_logits(model_, options, arguments, 1)};
      },
      {.name = "prediction", .device = device});
}

EvalCounts EvalStep::run(const std::vector<Tensor>& parameters, const Tensor& images,
                         const Tensor& labels) {
  std::vector<Tensor> arguments = parameters;
  arguments.push_back(images);
  arguments.push_back(labels);
  std::vector<float> counts = to_vector<float>(count_(arguments)[0]);
  return {counts[0], static_cast<int64_t>(counts[1]), static_cast<int64_t>(counts[2]),
          static_cast<int64_t>(counts[3])};
}

Tensor EvalStep::logits(const std::vector<Tensor>& parameters, const Tensor& images) {
  std::vector<Tensor> arguments = parameters;
  arguments.push_back(images);
  return logits_(arguments)[0];
}

void save_tensors(const std::filesystem::path& path, const std::vector<std::string>& names,
                  const std::vector<Tensor>& tensors) {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<io::NamedTensor> named;
  for (size_t i = 0; i < tensors.size(); ++i) {
    bytes.emplace_back(static_cast<size_t>(tensors[i].type().bytes()));
    read(tensors[i], bytes.back().data());
    named.push_back({names[i], tensors[i].type(), bytes.back().data()});
  }
  io::write_safetensors(path, named);
}

void load_tensors(const std::filesystem::path& path, const std::vector<std::string>& names,
                  const std::vector<Tensor>& like,
                  const std::function<void(size_t, const std::vector<float>&)>& set) {
  io::SafetensorsFile file(path);
  for (size_t i = 0; i < names.size(); ++i) {
    const io::NamedTensor& tensor = file.at(names[i]);
    if (tensor.type.shape != like[i].shape() || !is_floating(tensor.type.dtype)) {
      throw Error(path.string(), "'{}' is {}, the model has {}", names[i], to_string(tensor.type),
                  to_string(like[i].shape()));
    }
    Array values = Array::from_bytes(tensor.type, tensor.data);
    set(i, {values.reals.begin(), values.reals.end()});
  }
}

void save_parameters(const std::filesystem::path& path, const Model& model,
                     const std::vector<Tensor>& parameters) {
  save_tensors(path, parameter_names(model), parameters);
}

void load_parameters(const std::filesystem::path& path, const Model& model, TrainStep& step) {
  load_tensors(path, parameter_names(model), step.parameters(),
               [&](size_t i, const std::vector<float>& values) { step.set_parameter(i, values); });
}

}  // namespace centavo
