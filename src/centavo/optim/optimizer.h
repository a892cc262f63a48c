// Optimizer: which state each parameter has and how one step is recorded. PyTorch's semantics and
// defaults.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "centavo/ir/tensor.h"

namespace centavo {

struct OptimizerOptions {
  double lr = 1e-3;
  double weight_decay = 0;
  double momentum = 0;                // sgd
  bool nesterov = false;              // sgd
  double beta1 = 0.9, beta2 = 0.999;  // adam, adamw
  double eps = 1e-8;                  // adam, adamw
  bool no_decay_on_vectors = false;   // no weight decay on biases, norms and other vectors
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual std::string name() const = 0;
  // Names of the state tensors that each parameter has, as in PyTorch's state_dict ("exp_avg",
  // ...). All have the parameter's shape and start at zero.
  virtual std::vector<std::string> state_names() const = 0;
  // Values of the hyperparameter input of step `step` (from 1) at learning rate `lr`, computed in
  // double.
  virtual std::vector<float> hyper(int64_t step, double lr) const = 0;
  struct Update {
    Tensor parameter;
    std::vector<Tensor> state;
  };
  // Records one parameter's step. `hyper` is f32 [hyper().size()].
  virtual Update update(const Tensor& parameter, const Tensor& gradient,
                        const std::vector<Tensor>& state, const Tensor& hyper) const = 0;
};

// "sgd", "adam" or "adamw"; throws Error with the nearest name on anything else, and on values out
// of range.
std::unique_ptr<Optimizer> make_optimizer(const std::string& name, const OptimizerOptions& options);
// PyTorch's defaults for the optimizer: sgd lr 1e-3, adam 1e-3, adamw 1e-3 with weight decay 0.01.
OptimizerOptions default_options(const std::string& name);
std::vector<std::string> optimizer_names();

}  // namespace centavo
