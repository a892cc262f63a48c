// The training step and the evaluation step of a model: each one compiled function; and the state
// between steps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "centavo/ir/graph.h"
#include "centavo/models/model.h"
#include "centavo/optim/optimizer.h"
#include "centavo/runtime/runtime.h"

namespace centavo {

struct StepOptions {
  Precision precision = Precision::kBF16Mixed;
  double label_smoothing = 0;
  uint64_t seed = 42;
  Device device;  // default_device() when null
  // Data-parallel ranks; each trains on a batch of its own. The device must have been opened with
  // the same group. Null: one rank.
  std::shared_ptr<dist::Group> group;
  int64_t bucket_bytes = int64_t{8} << 20;  // gradients that are reduced together, about
  bool mixed = false;  // labels are i32 [3, N] of mixed batches (data/mix.h) rather than [N]

  int ranks() const { return group ? group->size() : 1; }
};

// Forward, backward and update as one executable. Parameters and optimizer state live on the device
// and are updated in place; learning rate, step number and seed are inputs, so nothing ever
// compiles twice.
class TrainStep {
 public:
  // `model` and `optimizer` must outlive it. Parameters start at their initial values for the seed.
  TrainStep(const Model& model, const Optimizer& optimizer, const StepOptions& options);
  TrainStep(const TrainStep&) = delete;
  TrainStep& operator=(const TrainStep&) = delete;

  // Starts one step on images f32 [N, C, H, W] and labels i32 [N] (or of
  // mixed batches) at learning rate `lr`; returns
  // its loss (f32 scalar, mean over the batches of all ranks), which is there when it is read.
  Tensor run(const Tensor& images, const Tensor& labels, double lr);

  // Data-parallel ranks agree through the step itself: `vote` is what this rank says with every
  // step from now on (0 at first), votes() the mean of what all ranks said with the latest step
  // (f32 scalar, the same bits on every rank).
  void vote(double value) { vote_ = value; }
  const Tensor& votes() const { return votes_; }

  int64_t steps_done() const { return steps_; }
  void set_steps_done(int64_t steps) { steps_ = steps; }
  // Values of all parameters and buffers, in the model's order.
  const std::vector<Tensor>& parameters() const { return parameters_; }
  // Replaces a parameter's value: fp32 numbers, as many as it has elements.
  void set_parameter(size_t index, const std::vector<float>& values);

  // The optimizer's state, each under its parameter's and its own name:
  // "blocks.0.attn.qkv.weight.exp_avg".
  const std::vector<Tensor>& state() const { return state_; }
  std::vector<std::string> state_names() const;
  // As set_parameter.
  void set_state(size_t index, const std::vector<float>& values);

  // Makes rank 0's parameters and state those of every rank, which must all call it. The
  // constructor does.
  void broadcast();

  // Compiles for a batch size without running.
  Executable& executable(int64_t batch_size);
  // Matrix products' FLOPs of one step for a batch: three times those of the forward pass.
  double matrix_flops(int64_t batch_size) const;
  const Device& device() const { return options_.device; }
  const StepOptions& options() const { return options_; }

 private:
  const Model& model_;
  const Optimizer& optimizer_;
  StepOptions options_;
  std::vector<int> trainable_;  // indices of the parameters that the optimizer updates
  std::vector<Tensor> parameters_, state_;
  CompiledFunction function_;
  int64_t steps_ = 0;
  double vote_ = 0;
  Tensor votes_;
};

// The step's graph for a batch, recorded only: nothing is compiled or allocated. For costs and
// predictions.
Graph training_graph(const Model& model, const Optimizer& optimizer, const StepOptions& options,
                     int64_t batch_size);
// The same of a prediction: parameters and images f32 [N, C, H, W] -> logits f32 [N, classes].
Graph prediction_graph(const Model& model, const StepOptions& options, int64_t batch_size);

// The loss of a batch and its gradient by each trainable parameter, for tests and parity checks.
// Arguments: parameters, images, labels, key u32 [2]. Outputs: loss, then gradients in order, in
// fp32.
CompiledFunction make_gradient_function(const Model& model, const StepOptions& options);

struct EvalCounts {
  double loss_sum = 0;
  int64_t samples = 0, top1 = 0, top5 = 0;
};

// Loss and hits of a batch. Labels of -1 mark padding and count nowhere, so a partial batch
// compiles nothing new.
class EvalStep {
 public:
  // `model` must outlive it.
  EvalStep(const Model& model, const StepOptions& options);
  EvalStep(const EvalStep&) = delete;
  EvalStep& operator=(const EvalStep&) = delete;
  EvalCounts run(const std::vector<Tensor>& parameters, const Tensor& images, const Tensor& labels);
  // Logits f32 [N, classes] of a batch.
  Tensor logits(const std::vector<Tensor>& parameters, const Tensor& images);

 private:
  const Model& model_;
  CompiledFunction count_, logits_;
};

// Writes tensors under their names, as they are held.
void save_tensors(const std::filesystem::path& path, const std::vector<std::string>& names,
                  const std::vector<Tensor>& tensors);
// Reads tensors of these names and shapes, in any floating dtype, and hands each to `set` by its
// index. Throws Error naming one that is missing or has another shape.
void load_tensors(const std::filesystem::path& path, const std::vector<std::string>& names,
                  const std::vector<Tensor>& like,
                  const std::function<void(size_t, const std::vector<float>&)>& set);
// Writes the parameters under timm's names, in fp32 or bf16 as they are held.
void save_parameters(const std::filesystem::path& path, const Model& model,
                     const std::vector<Tensor>& parameters);
// Reads them back; throws Error naming a missing parameter, or one of another shape.
void load_parameters(const std::filesystem::path& path, const Model& model, TrainStep& step);

}  // namespace centavo
