// Matrix products.
#pragma once

#include <optional>
#include <vector>

#include "centavo/ir/tensor.h"

namespace centavo {

struct DotDims {
  std::vector<int64_t> lhs_batch, rhs_batch;        // paired; lead the result
  std::vector<int64_t> lhs_contract, rhs_contract;  // paired; summed over
};

// StableHLO's dot_general. Result dimensions: batch, then the lhs's free ones, then the rhs's. Both
// operands have one floating dtype; sums are accumulated in fp32 or better; the result has `dtype`
// (the operands' if left out). Throws Error on dimensions that do not pair.
Tensor dot_general(const Tensor& lhs, const Tensor& rhs, const DotDims& dims,
                   std::optional<DType> dtype = {}, const Loc& loc = Loc::current());
// a[..., M, K] times b[..., K, N], batch dimensions equal, or b[K, N] alone.
Tensor matmul(const Tensor& a, const Tensor& b, const Loc& loc = Loc::current());
// x[..., I] times weight[O, I] transposed, plus bias[O] unless that is undefined. PyTorch's
// F.linear.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Loc& loc = Loc::current());

}  // namespace centavo
