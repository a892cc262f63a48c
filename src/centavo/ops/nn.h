// Composite functions of neural networks. Statistics, exponentials and sums are computed in fp32
// (fp64 for fp64 inputs) whatever the inputs' dtype. All throw Error on shapes that do not fit.
#pragma once

#include "centavo/ir/tensor.h"

namespace centavo {

// Over the last dimension: (x - mean) / sqrt(variance + eps) * weight[D] + bias[D]; the variance is
// the biased one. PyTorch's layer_norm.
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps,
                  const Loc& loc = Loc::current());
// x * Phi(x), the exact form with erf.
Tensor gelu(const Tensor& x, const Loc& loc = Loc::current());
// Over the last dimension.
Tensor softmax(const Tensor& x, const Loc& loc = Loc::current());
// Multi-head scaled dot-product self-attention. qkv[B, T, 3*H*D] holds query, key and value, each
// as H heads of D, in that order (timm's and GPT-2's layout); the result is [B, T, H*D]. Scale
// 1/sqrt(D). With `causal`, a token attends to itself and those before it.
Tensor attention(const Tensor& qkv, int64_t heads, bool causal = false,
                 const Loc& loc = Loc::current());
// Per sample, in fp32: logits[N, V], labels i32[N] in [0, V) -> loss[N]. With smoothing s the
// target is (1 - s) one-hot + s / V. PyTorch's cross_entropy(reduction="none"), but the loss of a
// label outside [0, V), and its gradient, are NaN.
Tensor cross_entropy(const Tensor& logits, const Tensor& labels, double label_smoothing = 0,
                     const Loc& loc = Loc::current());
// Zeroes elements with probability `rate` and divides the others by 1 - rate. The mask is a
// function of `key` (u32[2]: seed and step) and `stream` (which dropout of the model it is).
Tensor dropout(const Tensor& x, const Tensor& key, double rate, int64_t stream,
               const Loc& loc = Loc::current());
// Uniform random words: Philox4x32-10 keyed by `key` (u32[2]), counter (i / 4, stream); element i
// is word i % 4.
Tensor random_bits(const Tensor& key, const Shape& shape, int64_t stream,
                   const Loc& loc = Loc::current());
// x, but no gradient flows back through it.
Tensor stop_gradient(const Tensor& x, const Loc& loc = Loc::current());

// The dtype in which statistics of `d` are computed: f64 for f64, else f32.
DType statistics_dtype(DType d);

}  // namespace centavo
