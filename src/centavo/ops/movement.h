// Functions that move elements without computing: shapes, order, parts. All throw Error on shapes
// that do not fit.
#pragma once

#include <vector>

#include "centavo/ir/tensor.h"

namespace centavo {

// The same elements, row-major, in another shape; one extent may be -1 and follows from the others.
Tensor reshape(const Tensor& x, std::vector<int64_t> shape, const Loc& loc = Loc::current());
// x, made to wait for `after`: passes neither merge nor move what reads it with what comes before.
// StableHLO's optimization_barrier with one value.
Tensor optimization_barrier(const Tensor& x, const Tensor& after, const Loc& loc = Loc::current());
// Does the op's result hold input 0's elements in input 0's order, so that both can be one memory?
bool renames_memory(const Op& op);
// Output dimension i is input dimension permutation[i].
Tensor transpose(const Tensor& x, std::vector<int64_t> permutation,
                 const Loc& loc = Loc::current());
// Input dimension i becomes output dimension dims[i]; extents of 1 are repeated, as are the new
// dimensions.
Tensor broadcast_in_dim(const Tensor& x, const Shape& shape, std::vector<int64_t> dims,
                        const Loc& loc = Loc::current());
// NumPy's broadcasting: aligned at the last dimension. x itself when nothing changes.
Tensor broadcast_to(const Tensor& x, const Shape& shape, const Loc& loc = Loc::current());
// NumPy's common shape of two; the error names `topic`.
Shape broadcast_shapes(const Shape& a, const Shape& b, std::string_view topic, const Loc& loc);
// Elements start[d], start[d]+stride[d], ... below limit[d]; strides of 1 when left out.
Tensor slice(const Tensor& x, std::vector<int64_t> start, std::vector<int64_t> limit,
             std::vector<int64_t> strides = {}, const Loc& loc = Loc::current());
// The part [start, limit) along one axis (negative axes count from the end).
Tensor slice_axis(const Tensor& x, int axis, int64_t start, int64_t limit,
                  const Loc& loc = Loc::current());
// low[d] and high[d] elements of `value` before and after, interior[d] between neighbours. No
// negative amounts.
Tensor pad(const Tensor& x, double value, std::vector<int64_t> low, std::vector<int64_t> high,
           std::vector<int64_t> interior = {}, const Loc& loc = Loc::current());
// The elements in opposite order along each of `dims`.
Tensor reverse(const Tensor& x, std::vector<int64_t> dims, const Loc& loc = Loc::current());
Tensor concatenate(const std::vector<Tensor>& parts, int axis, const Loc& loc = Loc::current());

}  // namespace centavo
