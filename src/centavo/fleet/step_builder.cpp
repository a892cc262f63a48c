// Kernel by kernel costs of layers. Byte counts say how often an eager framework reads and writes
// each tensor: `a` bytes an activation element, `s` bytes a residual-stream element.
#include "centavo/fleet/step_builder.h"

#include <algorithm>

#include "centavo/base/error.h"
#include "centavo/base/text.h"

namespace centavo::fleet {
namespace {

OpCost memory_cost(OpClass op_class, double bytes) {
  OpCost op;
  op.op_class = op_class;
  op.bytes = bytes;
  return op;
}

OpCost matmul_cost(double flops, double bytes, int64_t m, int64_t n, int64_t k) {
  OpCost op;
  op.op_class = OpClass::kMatmul;
  op.flops = flops;
  op.bytes = bytes;
  op.m = m, op.n = n, op.k = k;
  return op;
}

}  // namespace

OptimizerCost optimizer_cost(std::string_view name) {
  // passes: parameter, gradient and states read; parameter and states written. LAMB adds norms of
  // both and an update.
  if (name == "sgd") return {1, 5};
  if (name == "adam" || name == "adamw") return {2, 7};
  if (name == "rmsprop") return {2, 7};
  if (name == "lamb") return {2, 12};
  static const std::vector<std::string> kNames = {"sgd", "adam", "adamw", "rmsprop", "lamb"};
  throw Error("fleet", "no cost known for optimizer '{}'{}", name, did_you_mean(name, kNames));
}

void StepBuilder::block(double elements) {
  largest_block_ = std::max(largest_block_, kept_ - block_kept_);
  block_kept_ = kept_;
  boundaries_ += elements * p_.stream;
}

void StepBuilder::memory_op(OpClass op_class, double forward_bytes, double backward_bytes,
                            double kept_bytes, double parameters) {
  Layer layer{memory_cost(op_class, forward_bytes), {}, parameters};
  if (backward_bytes > 0) layer.backward.push_back(memory_cost(op_class, backward_bytes));
  layers_.push_back(std::move(layer));
  kept_ += kept_bytes;
}

void StepBuilder::linear(int64_t rows, int64_t in, int64_t out, bool bias, bool from_stream) {
  const double a = p_.activation, r = static_cast<double>(rows), i = static_cast<double>(in),
               o = static_cast<double>(out);
  if (from_stream && p_.casts)
    memory_op(OpClass::kElementwise, (p_.stream + a) * r * i, (p_.stream + a) * r * i, 0);
  const double flops = 2 * r * i * o, bytes = a * r * (i + o) + p_.weight * i * o;
  Layer layer{matmul_cost(flops, bytes, rows, out, in),
              {matmul_cost(flops, bytes, rows, in, out), matmul_cost(flops, bytes, in, out, rows)},
              i * o + (bias ? o : 0)};
  if (bias) layer.backward.push_back(memory_cost(OpClass::kNormalization, a * r * o));
  layers_.push_back(std::move(layer));
  kept_ += a * r * i;
}

void StepBuilder::products(int64_t count, int64_t m, int64_t n, int64_t k) {
  const double c = static_cast<double>(count), flops = 2.0 * c * static_cast<double>(m * n * k);
  const double bytes = p_.activation * c * static_cast<double>(m * k + k * n + m * n);
  layers_.push_back({matmul_cost(flops, bytes, m, n, k),
                     {matmul_cost(flops, bytes, m, k, n), matmul_cost(flops, bytes, k, n, m)},
                     0});
  kept_ += p_.activation * c * static_cast<double>(m * k + k * n);
}

void StepBuilder::attention(int64_t heads, int64_t tokens, int64_t head_width, bool with_dropout) {
  const int64_t count = batch_ * heads;
  const double e = static_cast<double>(count * tokens * tokens), a = p_.activation;
  products(count, tokens, tokens, head_width);
  memory_op(OpClass::kElementwise, 2 * a * e, 2 * a * e, 0);  // scaling
  if (p_.casts) {  // the softmax runs in the wider format: cast, softmax, cast back
    memory_op(OpClass::kNormalization, (a + 4) * e, 12 * e, 4 * e);
    memory_op(OpClass::kElementwise, (a + 4) * e, (a + 4) * e, 0);
  } else {
    memory_op(OpClass::kNormalization, 2 * a * e, 3 * a * e, a * e);
  }
  if (with_dropout) dropout(e);
  products(count, tokens, head_width, tokens);
}

int64_t StepBuilder::convolution(const ConvShape& c) {
  const int64_t height = (c.height + c.stride - 1) / c.stride,
                width = (c.width + c.stride - 1) / c.stride;
  const double inputs = static_cast<double>(batch_ * c.channels_in * c.height * c.width);
  const double outputs = static_cast<double>(batch_ * c.channels_out * height * width);
  const double depth = static_cast<double>(c.channels_in / c.groups * c.kernel * c.kernel);
  const double weights = depth * static_cast<double>(c.channels_out);
  OpCost op =
      memory_cost(OpClass::kConvolution, p_.activation * (inputs + outputs) + p_.weight * weights);
  op.flops = 2 * outputs * depth;
  if (c.groups > 1 && c.groups == c.channels_in) op.op_class = OpClass::kDepthwise;
  op.m = batch_ * height * width, op.n = c.channels_out / c.groups;
  op.k = c.channels_in / c.groups * c.kernel * c.kernel;
  Layer layer{op, {op, op}, weights + static_cast<double>(c.bias ? c.channels_out : 0)};
  if (c.bias)
    layer.backward.push_back(memory_cost(OpClass::kNormalization, p_.activation * outputs));
  layers_.push_back(std::move(layer));
  kept_ += p_.activation * inputs;
  return height;
}

void StepBuilder::layer_norm(double e, int64_t width) {
  // Forward reads and writes; backward reads input and gradient twice (once for the scale's
  // gradient) and writes.
  memory_op(OpClass::kNormalization, 2 * p_.stream * e, 5 * p_.stream * e, p_.stream * e,
            2.0 * static_cast<double>(width));
}

void StepBuilder::batch_norm(double e, int64_t channels) {
  // Statistics read once more than a layer norm's, which fit in a row.
  memory_op(OpClass::kNormalization, 3 * p_.activation * e, 5 * p_.activation * e,
            p_.activation * e, 2.0 * static_cast<double>(channels));
}

void StepBuilder::activation(double e) {
  memory_op(OpClass::kElementwise, 2 * p_.activation * e, 3 * p_.activation * e, p_.activation * e);
}

void StepBuilder::relu(double e) {
  memory_op(OpClass::kElementwise, 2 * p_.activation * e, 3 * p_.activation * e, 0);
}

void StepBuilder::dropout(double e) {
  const double bytes = (2 * p_.activation + 1) * e;  // one byte of mask
  memory_op(OpClass::kElementwise, bytes, bytes, e);
}

void StepBuilder::residual_add(double e) {
  const double s = p_.stream, a = p_.activation;
  // Under casts the branch's result arrives narrow and its gradient is cast back.
  memory_op(OpClass::kElementwise, (2 * s + a) * e, p_.casts ? (s + a) * e : 0, 0);
}

void StepBuilder::activation_add(double e) {
  memory_op(OpClass::kElementwise, 3 * p_.activation * e, 0, 0);
}

void StepBuilder::copy(double e) {
  memory_op(OpClass::kElementwise, 2 * p_.activation * e, 2 * p_.activation * e, 0);
}

void StepBuilder::pool(double elements_in, double elements_out) {
  const double a = p_.activation;
  memory_op(OpClass::kNormalization, a * (elements_in + elements_out),
            a * (elements_in + 2 * elements_out), 0);
}

void StepBuilder::embedding(int64_t rows, int64_t vocabulary, int64_t width) {
  const double bytes = 3.0 * p_.stream * static_cast<double>(rows * width);
  memory_op(OpClass::kEmbedding, bytes, bytes, 0, static_cast<double>(vocabulary * width));
}

void StepBuilder::cross_entropy(int64_t rows, int64_t classes) {
  const double e = static_cast<double>(rows * classes);
  memory_op(OpClass::kNormalization, (p_.activation + 4) * e, 8 * e, 4 * e);
}

void StepBuilder::parameters(double count) {
  untracked_parameters_ += count;
}

void StepBuilder::tied_linear(int64_t rows, int64_t in, int64_t out, bool bias) {
  linear(rows, in, out, bias);
  layers_.back().parameters = bias ? static_cast<double>(out) : 0;
}

void StepBuilder::append_backward(Workload& step) const {
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    for (OpCost op : layer->backward) {
      op.phase = Phase::kBackward;
      step.ops.push_back(op);
    }
    if (layer->parameters > 0) step.ops.back().gradient_bytes = p_.gradient * layer->parameters;
  }
}

void StepBuilder::append_optimizer(Workload& step) const {
  OpCost update;
  update.op_class = OpClass::kOptimizer;
  update.phase = Phase::kOptimizer;
  update.flops = 10 * step.parameters;
  update.bytes = optimizer_cost(step.optimizer).passes * p_.state * step.parameters;
  step.ops.push_back(update);
  if (!p_.casts) return;
  // Master weights are cast for the next step and gradients widened: once each way.
  update.flops = 0;
  update.bytes = 2.0 * (p_.state + p_.weight) * step.parameters;
  step.ops.push_back(update);
}

Workload StepBuilder::finish(std::string_view model, std::string_view optimizer) && {
  block(0);
  Workload step;
  step.model = model;
  step.batch = static_cast<int>(batch_);
  step.precision = p_.name;
  step.optimizer = optimizer;
  step.parameters = untracked_parameters_;
  for (const Layer& layer : layers_) {
    step.ops.push_back(layer.forward);
    step.parameters += layer.parameters;
  }
  append_backward(step);
  append_optimizer(step);
  for (const OpCost& op : step.ops) {
    if (op.phase == Phase::kForward) step.recompute_flops += op.flops;
  }
  step.gradient_bytes = p_.gradient * step.parameters;
  step.state_bytes = step.parameters * p_.state * (2 + optimizer_cost(optimizer).states);
  if (p_.casts) step.state_bytes += step.parameters * p_.weight;
  step.activation_bytes = kept_;
  step.recompute_bytes = std::min(kept_, boundaries_ + largest_block_);
  return step;
}

}  // namespace centavo::fleet
