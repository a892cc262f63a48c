// Workload: one worker's training step as the cost model sees it. It is filled from a recorded
// Graph (workload_from_graph.h) or from an architecture's description (architectures.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "centavo/fleet/precision.h"

namespace centavo::fleet {

enum class OpClass {
  kMatmul,
  kConvolution,
  kDepthwise,      // one filter a channel: runs beside the matrix unit
  kAttention,      // fused scores, softmax and weighted sum
  kElementwise,    // activations, residuals, dropout, casts, copies
  kNormalization,  // reductions over rows or channels
  kEmbedding,
  kOptimizer,
};
inline constexpr int kOpClasses = 8;
std::string_view name_of(OpClass op_class);

enum class Phase { kForward, kBackward, kOptimizer };

// One kernel of the step, as an eager framework runs it.
struct OpCost {
  OpClass op_class = OpClass::kElementwise;
  Phase phase = Phase::kForward;
  double flops = 0;  // multiply and add count as two
  double bytes = 0;  // inputs read once, outputs written once
  int64_t m = 0, n = 0,
          k = 0;  // a matrix product's result rows and columns, and its depth; 0 elsewhere
  double gradient_bytes = 0;  // parameter gradients that are complete once it has run
};

enum class InputKind { kSynthetic, kImages, kTokens };
std::string_view name_of(InputKind kind);
InputKind input_kind_from_name(std::string_view name);  // throws Error

struct Workload {
  std::string model;
  int batch = 0;          // samples of one worker's step
  std::string precision;  // a name in precisions()
  std::string optimizer;
  std::vector<OpCost> ops;  // in execution order

  double parameters = 0;        // elements
  double gradient_bytes = 0;    // sent by one all-reduce of everything
  double state_bytes = 0;       // parameters, gradients and optimizer states held on the device
  double activation_bytes = 0;  // kept from forward to backward
  double recompute_bytes = 0;   // the same when each block is recomputed in backward
  double recompute_flops = 0;   // extra forward work that this costs
  double sample_elements = 0;   // numbers in one input sample
  int size = 0;                 // height and width of the images, or length of the texts
  InputKind input = InputKind::kSynthetic;

  double flops() const;
  double flops(OpClass op_class) const;
  bool has(OpClass op_class) const;
  // Bytes of the largest single matrix product's operands and result.
  double working_set() const;
};

}  // namespace centavo::fleet
