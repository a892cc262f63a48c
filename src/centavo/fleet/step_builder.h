// StepBuilder: describes a model's forward pass layer by layer and derives the whole training
// step's kernels from it: forward, backward in reverse order, optimizer. Shapes are per worker;
// nothing is computed.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "centavo/fleet/precision.h"
#include "centavo/fleet/workload.h"

namespace centavo::fleet {

struct ConvShape {
  int64_t channels_in, height, width, channels_out, kernel, stride = 1, groups = 1;
  bool bias = false;
};

class StepBuilder {
 public:
  StepBuilder(const Precision& precision, int64_t batch) : p_(precision), batch_(batch) {}

  int64_t batch() const { return batch_; }
  // Marks where a block begins whose inner activations recomputation may drop; `elements` is its
  // input.
  void block(double elements);

  // rows x in -> rows x out. `from_stream`: its input is a normalisation's result, cast first where
  // the precision keeps those wider.
  void linear(int64_t rows, int64_t in, int64_t out, bool bias = true, bool from_stream = false);
  // The same with the token embedding's weights: their gradient is complete when the embedding's
  // is.
  void tied_linear(int64_t rows, int64_t in, int64_t out, bool bias);
  // count independent products of m x k by k x n, both operands activations.
  void products(int64_t count, int64_t m, int64_t n, int64_t k);
  // Scores, scaling, softmax and weighted sum over heads, written to memory in between.
  void attention(int64_t heads, int64_t tokens, int64_t head_width, bool dropout = false);
  // Returns the output's height.
  int64_t convolution(const ConvShape& shape);
  void layer_norm(double elements, int64_t width);
  void batch_norm(double elements, int64_t channels);
  void activation(double elements);  // GELU, SiLU
  void relu(
      double elements);  // in place: keeps only its result, which the next layer keeps as its input
  void dropout(double elements);
  void residual_add(double elements);    // into the residual stream
  void activation_add(double elements);  // between convolutions
  void copy(double elements);            // permutations, slices
  void pool(double elements_in, double elements_out);
  void embedding(int64_t rows, int64_t vocabulary, int64_t width);
  void cross_entropy(int64_t rows, int64_t classes);
  void parameters(
      double count);  // without a kernel of their own: position embeddings, class tokens

  // The step with backward and optimizer: sgd (momentum), adam, adamw, lamb, rmsprop. Throws Error
  // for others.
  Workload finish(std::string_view model, std::string_view optimizer) &&;

 private:
  struct Layer {
    OpCost forward;
    std::vector<OpCost> backward;
    double parameters = 0;
  };
  void memory_op(OpClass op_class, double forward_bytes, double backward_bytes, double kept_bytes,
                 double parameters = 0);
  void append_backward(Workload& step) const;
  void append_optimizer(Workload& step) const;

  const Precision& p_;
  int64_t batch_;
  std::vector<Layer> layers_;
  double untracked_parameters_ = 0;
  double kept_ = 0, block_kept_ = 0, largest_block_ = 0, boundaries_ = 0;
};

// Values an optimizer keeps per parameter, and how many parameter-sized arrays its update reads and
// writes.
struct OptimizerCost {
  int states, passes;
};
OptimizerCost optimizer_cost(std::string_view name);  // throws Error with the nearest name

}  // namespace centavo::fleet
