// Scaled dot-product attention, forward and backward, on raw strided arrays: it knows nothing of
// graphs. Probabilities exist only in tiles that fit the cache; backward computes them again from
// `lse`.
#pragma once

#include <cstdint>

#include "centavo/backend/cpu/cpu_level.h"
#include "centavo/base/dtype.h"

namespace centavo::cpu {

// Element (b, t, h, d) of an operand is data[b * batch + t * token + h * head + d]. Strides count
// elements, so that q, k and v can be slices of one packed [B,T,3,H,D] and out a [B,T,H*D]. Data
// needs no alignment beyond its element's.
struct AttentionStrides {
  int64_t batch = 0, token = 0, head = 0;
};

// Per sample and head, with Q[q_tokens, head_dim], K and V[kv_tokens, head_dim]:
//   S = scale Q K^T;  P = softmax over kv tokens of S;  O = P V.
struct AttentionSpec {
  int64_t batch = 0, heads = 0, q_tokens = 0, kv_tokens = 0;  // batch, heads and q_tokens may be 0
  int64_t head_dim = 0;                                       // 1 .. 256
  float scale = 1;                                            // > 0; usually 1 / sqrt(head_dim)
  bool causal = false;        // query token i sees the kv tokens j <= i
  DType dtype = DType::kF32;  // kF32 or kBF16, of all operands
  AttentionStrides q, k, v, out;
  int threads = 1;               // OpenMP threads; the results are the same bits for every number
  CpuLevel level = cpu_level();  // instructions to use
};

// O into `out`, and unless null the log of each row's sum of exp(S) into lse[B,H,q_tokens].
// With bf16, products multiply bf16 numbers (P rounded to bf16), sums and softmax are in fp32.
// Throws Error on a dtype, extent or scale outside the ranges above.
void attention_forward(const AttentionSpec& spec, const void* q, const void* k, const void* v,
                       void* out, float* lse);

// Gradients of sum(O * d_out) with respect to q, k and v, which dq, dk and dv are strided like;
// d_out is strided like out. `out` and `lse` are what attention_forward wrote. dS is rounded to
// bf16 as P is.
void attention_backward(const AttentionSpec& spec, const void* q, const void* k, const void* v,
                        const void* out, const void* d_out, const float* lse, void* dq, void* dk,
                        void* dv);

}  // namespace centavo::cpu
