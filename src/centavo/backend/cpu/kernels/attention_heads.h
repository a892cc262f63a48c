// One head at a time: what a thread of attention does. Internal to the attention kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "centavo/backend/cpu/kernels/attention.h"

namespace centavo::cpu {

struct ForwardOperands {
  const void *q, *k, *v;
  void* out;
  float* lse;
};
struct BackwardOperands {
  const void *q, *k, *v, *out, *d_out;
  const float* lse;
  void *dq, *dk, *dv;
};

// Forward works on blocks of q tokens, numbered through all heads; any split among threads will do.
int64_t forward_blocks(const AttentionSpec& spec);
size_t forward_workspace(const AttentionSpec& spec);
void forward_range(const AttentionSpec& spec, const ForwardOperands& operands, int64_t begin,
                   int64_t end, std::byte* workspace);

// Backward works on whole heads.
size_t backward_workspace(const AttentionSpec& spec);
void backward_range(const AttentionSpec& spec, const BackwardOperands& operands, int64_t begin,
                    int64_t end, std::byte* workspace);

}  // namespace centavo::cpu
