// Reductions over dimensions. Sums of bf16 are accumulated in fp32 by every backend.
#pragma once

#include <vector>

#include "centavo/ir/tensor.h"

namespace centavo {

// Over `dims` (negative ones count from the end); all dimensions when left out. The reduced
// dimensions disappear, or stay with extent 1 when `keep`.
Tensor sum(const Tensor& x, std::vector<int64_t> dims, bool keep = false,
           const Loc& loc = Loc::current());
Tensor sum(const Tensor& x, const Loc& loc = Loc::current());
Tensor mean(const Tensor& x, std::vector<int64_t> dims, bool keep = false,
            const Loc& loc = Loc::current());
Tensor mean(const Tensor& x, const Loc& loc = Loc::current());
Tensor max(const Tensor& x, std::vector<int64_t> dims, bool keep = false,
           const Loc& loc = Loc::current());
Tensor min(const Tensor& x, std::vector<int64_t> dims, bool keep = false,
           const Loc& loc = Loc::current());

}  // namespace centavo
