// What to fetch from memory while products run: regions in, lines for one micro-kernel after the
// other out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "centavo/backend/cpu/kernels/micro.h"

namespace centavo::cpu {

// Holds few regions; those beyond are left to the processor's own prefetching.
class AheadQueue {
 public:
  void clear() { count_ = at_ = 0; }
  // `rows` runs of `bytes` bytes, `stride` bytes apart.
  void add(const void* data, int64_t rows, int64_t stride, int64_t bytes) {
    if (rows <= 0 || bytes <= 0 || count_ == kMost) return;
    constexpr int64_t kLine = 64;
    auto* first = static_cast<const std::byte*>(data);
    const auto before = static_cast<int64_t>(reinterpret_cast<uintptr_t>(data) % kLine);
    const int64_t lines = (before + bytes + kLine - 1) / kLine;
    // The longer way is the inner one, so that each micro-kernel gets all the lines it can take.
    regions_[count_++] = rows >= lines ? Region{first - before, rows, stride, lines, kLine}
                                       : Region{first - before, lines, kLine, rows, stride};
  }
  // The next lines, as many as a product of `steps` steps fetches.
  MicroAhead take(int64_t steps) {
    if (at_ == count_) return {};
    Region& r = regions_[at_];
    const int64_t lines = std::min(steps / 2, r.inner - r.done);
    const MicroAhead ahead{r.at + r.done * r.inner_stride, r.inner_stride, lines};
    r.done += lines;
    if (r.done == r.inner) {
      r.done = 0, r.at += r.outer_stride;
      if (--r.outer == 0) ++at_;
    }
    return ahead;
  }

 private:
  struct Region {
    const std::byte* at;
    int64_t inner, inner_stride;
    int64_t outer, outer_stride;
    int64_t done = 0;
  };
  static constexpr int kMost = 8;
  Region regions_[kMost];
  int count_ = 0, at_ = 0;
};

}  // namespace centavo::cpu
