// Two-dimensional convolution and pooling. Activations are channels-last, [N, H, W, C]: what a
// convolution's kernel and a batch norm's reductions both read in order. Weights keep PyTorch's
// order [O, I / groups, KH, KW]. All throw Error on shapes that do not fit.
#pragma once

#include <array>

#include "centavo/ir/tensor.h"

namespace centavo {

// Pairs are (vertical, horizontal).
struct ConvOptions {
  std::array<int64_t, 2> strides = {1, 1};
  std::array<int64_t, 2> padding_low = {0, 0},
                         padding_high = {0, 0};    // zeros before and after; may be negative
  std::array<int64_t, 2> input_dilation = {1, 1};  // zeros between input elements
  std::array<int64_t, 2> dilation = {1, 1};        // steps between kernel elements
  int64_t groups = 1;
};

// The same padding on both sides.
ConvOptions conv_options(int64_t stride, int64_t padding, int64_t groups = 1, int64_t dilation = 1);

// x[N, H, W, I] and weight[O, I / groups, KH, KW] -> [N, H', W', O], a cross-correlation as in
// PyTorch.
Tensor conv2d(const Tensor& x, const Tensor& weight, const ConvOptions& options,
              const Loc& loc = Loc::current());

struct PoolOptions {
  std::array<int64_t, 2> window = {1, 1}, strides = {1, 1};
  std::array<int64_t, 2> padding_low = {0, 0}, padding_high = {0, 0};
};
// The largest element of each window; padding never wins.
Tensor max_pool2d(const Tensor& x, const PoolOptions& options, const Loc& loc = Loc::current());
// The sum of each window divided by its full size, padding counted as zeros.
Tensor avg_pool2d(const Tensor& x, const PoolOptions& options, const Loc& loc = Loc::current());

struct BatchNormResult {
  Tensor y, mean,
      variance;  // statistics of this batch, per channel, in fp32; the variance is the biased one
};
// Over all dimensions but the last: (x - mean) / sqrt(variance + eps) * weight[C] + bias[C], with
// the batch's own statistics. Gradients flow through y only.
BatchNormResult batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps,
                           const Loc& loc = Loc::current());

}  // namespace centavo
