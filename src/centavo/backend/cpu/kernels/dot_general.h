// How a dot_general node maps to matrix products.
#pragma once

#include <optional>
#include <vector>

#include "centavo/backend/cpu/kernels/gemm.h"
#include "centavo/ir/tensor.h"

namespace centavo::cpu {

// One product per entry of the offsets (elements): those batch dimensions that no single stride
// describes.
struct DotPlan {
  GemmSpec spec;
  std::vector<int64_t> a_offsets, b_offsets, c_offsets;
};

// Nothing when a group of dimensions cannot be walked with one stride, or a dtype has no product.
std::optional<DotPlan> plan_dot(const Node& node, int threads);

}  // namespace centavo::cpu
