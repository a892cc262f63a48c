// Copies run along the target, so that it is written in order.
#include "centavo/backend/cpu/kernels/strided_copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace centavo::cpu {
namespace {

using Dim = StridedViews::Dim;

// Drops extents of 1 and merges neighbours that both sides walk as one, outermost in the target
// first.
std::vector<Dim> merged(std::vector<Dim> dims) {
  std::stable_sort(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) {
    return std::abs(a.target) > std::abs(b.target);
  });
  std::vector<Dim> result;
  for (const Dim& d : dims) {
    if (d.extent == 1) continue;
    if (!result.empty() && result.back().source == d.source * d.extent &&
        result.back().target == d.target * d.extent) {
      result.back() = {result.back().extent * d.extent, d.source, d.target};
    } else {
      result.push_back(d);
    }
  }
  if (result.empty()) result.push_back({1, 1, 1});
  return result;
}

// Where the two sides order two dimensions differently, one of them is walked in as many places at
// once as the inner dimension is long: the shorter one goes there.
void shorten_strides(Dim& outer, Dim& inner) {
  if (std::abs(outer.source) < std::abs(inner.source) && outer.extent < inner.extent)
    std::swap(outer, inner);
}

// Counts through the first `count` dimensions and keeps the offsets on both sides.
class Odometer {
 public:
  Odometer(const std::vector<Dim>& dims, size_t count, int64_t at) : dims_(dims), index_(count, 0) {
    for (size_t d = count; d-- > 0;) {
      index_[d] = at % dims_[d].extent;
      at /= dims_[d].extent;
      source_ += index_[d] * dims_[d].source;
      target_ += index_[d] * dims_[d].target;
    }
  }
  int64_t source() const { return source_; }
  int64_t target() const { return target_; }
  void next() {
    for (size_t d = index_.size(); d-- > 0;) {
      source_ += dims_[d].source;
      target_ += dims_[d].target;
      if (++index_[d] < dims_[d].extent) return;
      source_ -= dims_[d].extent * dims_[d].source;
      target_ -= dims_[d].extent * dims_[d].target;
      index_[d] = 0;
    }
  }

 private:
  const std::vector<Dim>& dims_;
  std::vector<int64_t> index_;
  int64_t source_ = 0, target_ = 0;
};

// How many pieces of about `size` an extent is cut into.
int64_t pieces(int64_t extent, int64_t size) {
  return std::max<int64_t>(1, extent / size);
}

}  // namespace

StridedCopy::StridedCopy(StridedViews views, int64_t element_bytes, CpuLevel level)
    : dims_(merged(std::move(views.dims))),
      source_(views.source),
      target_(views.target),
      element_bytes_(element_bytes) {
  for (const Dim& d : dims_) elements_ *= d.extent;
  if (const size_t n = dims_.size(); n > 2) shorten_strides(dims_[n - 3], dims_[n - 2]);
  const Dim& last = dims_.back();
  const auto along_source =
      std::find_if(dims_.begin(), dims_.end() - 1, [](const Dim& d) { return d.source == 1; });
  if (last.target != 1) {
    way_ = Way::kElements;
  } else if (last.source == 1) {
    way_ = Way::kRows;
  } else if (last.source == 0) {
    way_ = Way::kFill;
  } else if (along_source != dims_.end() - 1) {
    way_ = Way::kTranspose;
    std::rotate(along_source, along_source + 1, dims_.end() - 1);
    transpose_block_ = find_transpose(element_bytes, level);
  } else {
    way_ = Way::kElements;
  }
}

void StridedCopy::run(const std::byte* source, std::byte* target, int part, int parts) const {
  source += source_ * element_bytes_;
  target += target_ * element_bytes_;
  if (way_ == Way::kTranspose) return transpose(source, target, part, parts);
  auto as = [&](auto element) {
    using T = decltype(element);
    run_as(reinterpret_cast<const T*>(source), reinterpret_cast<T*>(target), part, parts);
  };
  switch (element_bytes_) {
    case 1:
      return as(uint8_t{});
    case 2:
      return as(uint16_t{});
    case 4:
      return as(uint32_t{});
    default:
      return as(uint64_t{});
  }
}

template <class T>
void StridedCopy::run_as(const T* source, T* target, int part, int parts) const {
  const Dim last = dims_.back();
  const Range range = share(elements_, part, parts, 64 / int64_t{sizeof(T)});
  if (range.size() == 0) return;
  Odometer row(dims_, dims_.size() - 1, range.begin / last.extent);
  int64_t first = range.begin % last.extent;
  for (int64_t left = range.size(); left > 0; row.next(), first = 0) {
    const int64_t count = std::min(last.extent - first, left);
    const T* from = source + row.source() + first * last.source;
    T* to = target + row.target() + first * last.target;
    if (way_ == Way::kRows) {
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
    } else if (way_ == Way::kFill) {
      std::fill_n(to, count, *from);
    } else {
      for (int64_t i = 0; i < count; ++i) to[i * last.target] = from[i * last.source];
    }
    left -= count;
  }
}

// Blocks of columns whose lines in the target stay in L1 until the rows that share them have come.
void StridedCopy::transpose(const std::byte* source, std::byte* target, int part, int parts) const {
  constexpr int64_t kRows = 1024, kCols = 256;
  const Dim rows = dims_[dims_.size() - 1], cols = dims_[dims_.size() - 2];
  const int64_t line = 64 / element_bytes_, row_blocks = pieces(rows.extent, kRows),
                col_blocks = pieces(cols.extent, kCols), blocks = row_blocks * col_blocks;
  if (elements_ == 0) return;
  const Range mine = share(elements_ / (rows.extent * cols.extent) * blocks, part, parts);
  Odometer outer(dims_, dims_.size() - 2, mine.begin / blocks);
  for (int64_t at = mine.begin; at < mine.end; ++at) {
    if (at > mine.begin && at % blocks == 0) outer.next();
    const Range r = share(rows.extent, at % row_blocks, row_blocks, line),
                c = share(cols.extent, at % blocks / row_blocks, col_blocks, line);
    transpose_block_(source + (outer.source() + r.begin * rows.source + c.begin) * element_bytes_,
                     rows.source,
                     target + (outer.target() + c.begin * cols.target + r.begin) * element_bytes_,
                     cols.target, r.size(), c.size());
  }
}

}  // namespace centavo::cpu
