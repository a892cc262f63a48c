// Attention's checks, and its work shared out among threads. attention_forward.cpp and
// attention_backward.cpp do it.
#include "centavo/backend/cpu/kernels/attention.h"

#include <algorithm>
#include <omp.h>

#include "centavo/backend/cpu/kernels/attention_heads.h"
#include "centavo/backend/cpu/kernels/scratch.h"
#include "centavo/base/error.h"

namespace centavo::cpu {
namespace {

void check(const AttentionSpec& s) {
  if (s.dtype != DType::kF32 && s.dtype != DType::kBF16) {
    throw Error("attention", "computes in f32 or bf16, not {}", name_of(s.dtype));
  }
  if (s.head_dim < 1 || s.head_dim > 256) {
    throw Error("attention", "head_dim must be 1 to 256, got {}", s.head_dim);
  }
  if (s.batch < 0 || s.heads < 0 || s.q_tokens < 0 || s.kv_tokens < 1) {
    throw Error("attention", "bad extents: batch {}, heads {}, q_tokens {}, kv_tokens {}", s.batch,
                s.heads, s.q_tokens, s.kv_tokens);
  }
  if (!(s.scale > 0)) throw Error("attention", "scale must be positive, got {}", s.scale);
}

// Units of work do not depend on each other, so their results do not depend on who does them.
template <class Operands>
void share_out(const AttentionSpec& spec, const Operands& operands, int64_t units, size_t workspace,
               void (*run)(const AttentionSpec&, const Operands&, int64_t begin, int64_t end,
                           std::byte* workspace)) {
  const auto work = [&](int64_t begin, int64_t end) {
    static thread_local Scratch scratch;
    run(spec, operands, begin, end, scratch.reserve(workspace));
  };
  const auto threads = static_cast<int>(std::min<int64_t>(spec.threads, units));
  if (threads <= 1) return work(0, units);
#pragma omp parallel num_threads(threads)
  {
    const int64_t team = omp_get_num_threads(), thread = omp_get_thread_num();
    work(units * thread / team, units * (thread + 1) / team);
  }
}

}  // namespace

void attention_forward(const AttentionSpec& spec, const void* q, const void* k, const void* v,
                       void* out, float* lse) {
  check(spec);
  const ForwardOperands operands{.q = q, .k = k, .v = v, .out = out, .lse = lse};
  share_out(spec, operands, forward_blocks(spec), forward_workspace(spec), forward_range);
}

void attention_backward(const AttentionSpec& spec, const void* q, const void* k, const void* v,
                        const void* out, const void* d_out, const float* lse, void* dq, void* dk,
                        void* dv) {
  check(spec);
  const BackwardOperands operands{
      .q = q, .k = k, .v = v, .out = out, .d_out = d_out, .lse = lse, .dq = dq, .dk = dk, .dv = dv};
  share_out(spec, operands, spec.batch * spec.heads, backward_workspace(spec), backward_range);
}

}  // namespace centavo::cpu
