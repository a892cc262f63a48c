// Sums over the ranks of a data-parallel job.
#pragma once

#include <vector>

#include "centavo/ir/tensor.h"

namespace centavo {

// Each result is scale * the sum of that tensor over the `ranks` ranks of the job, in which all
// tensors have one dtype (f32, bf16 or f64) and every rank runs this same graph. The sum is made in
// f32 (f64 for f64) and has the same bits on every rank. The tensors travel together: one bucket.
std::vector<Tensor> all_reduce(const std::vector<Tensor>& tensors, int64_t ranks, double scale,
                               const Loc& loc = Loc::current());

}  // namespace centavo
