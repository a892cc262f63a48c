// Tiles of one vector of rows by 16 bytes of columns, transposed in registers.
#include "centavo/backend/cpu/kernels/transpose.h"

#include <algorithm>

#include "centavo/base/error.h"

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "centavo/backend/cpu/kernels/transpose.cpp"
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace centavo::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The longer loop is the inner one.
template <class T>
void by_element(const T* source, int64_t source_stride, T* target, int64_t target_stride,
                int64_t rows, int64_t cols) {
  if (rows < cols) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < cols; ++c)
        target[c * target_stride + r] = source[r * source_stride + c];
  } else {
    for (int64_t c = 0; c < cols; ++c)
      for (int64_t r = 0; r < rows; ++r)
        target[c * target_stride + r] = source[r * source_stride + c];
  }
}

#if HWY_TARGET != HWY_SCALAR
constexpr size_t kBlockBytes = 16;  // a vector is one or more such blocks

// Block b of the vector is the 16 bytes at from + b * stride.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_blocks(D d, const T* from, int64_t stride) {
  constexpr size_t kBlocks = hn::MaxLanes(d) * sizeof(T) / kBlockBytes;
  if constexpr (kBlocks == 1) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    constexpr auto kUpper = static_cast<int64_t>(kBlocks / 2);
    return hn::Combine(d, load_blocks(half, from + kUpper * stride, stride),
                       load_blocks(half, from, stride));
  }
}

// One tile: Lanes(d) rows by as many columns as a block has elements.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void transpose_tile(D d, const T* source, int64_t source_stride, T* target,
                               int64_t target_stride) {
  constexpr size_t kSize = kBlockBytes / sizeof(T);
  hn::Vec<D> v[kSize], shuffled[kSize];
  for (size_t k = 0; k < kSize; ++k) {
    v[k] = load_blocks(d, source + static_cast<int64_t>(k) * source_stride,
                       static_cast<int64_t>(kSize) * source_stride);
  }
  // Each round turns the bits of an element's place, (vector, lane in block), round by one; after
  // log2(kSize) of them the two have changed places.
  for (size_t round = 1; round < kSize; round *= 2) {
    for (size_t k = 0; k < kSize / 2; ++k) {
      shuffled[2 * k] = hn::InterleaveLower(d, v[k], v[k + kSize / 2]);
      shuffled[2 * k + 1] = hn::InterleaveUpper(d, v[k], v[k + kSize / 2]);
    }
    std::copy_n(shuffled, kSize, v);
  }
  for (size_t k = 0; k < kSize; ++k) {
    T* line = target + static_cast<int64_t>(k) * target_stride;
    hn::StoreU(v[k], d, line);
    __builtin_prefetch(line + hn::MaxLanes(d), 1);
  }
}

// Tiles side by side; the last ones overlap those before them.
template <class D, class T = hn::TFromD<D>>
void by_tiles(D d, const T* source, int64_t source_stride, T* target, int64_t target_stride,
              int64_t rows, int64_t cols) {
  constexpr int64_t kRows = hn::MaxLanes(d), kCols = kBlockBytes / sizeof(T);
  for (int64_t row = 0; row < rows; row += kRows) {
    const int64_t r = std::min(row, rows - kRows);
    for (int64_t col = 0; col < cols; col += kCols) {
      const int64_t c = std::min(col, cols - kCols);
      transpose_tile(d, source + r * source_stride + c, source_stride,
                     target + c * target_stride + r, target_stride);
    }
  }
}
#endif

template <class T>
void transpose(const std::byte* source, int64_t source_stride, std::byte* target,
               int64_t target_stride, int64_t rows, int64_t cols) {
  const T* from = reinterpret_cast<const T*>(source);
  T* to = reinterpret_cast<T*>(target);
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<T> wide;
  const hn::CappedTag<T, kBlockBytes / sizeof(T)> block;
  if (cols >= static_cast<int64_t>(hn::MaxLanes(block))) {
    if (rows >= static_cast<int64_t>(hn::MaxLanes(wide)))
      return by_tiles(wide, from, source_stride, to, target_stride, rows, cols);
    if (rows >= static_cast<int64_t>(hn::MaxLanes(block)))
      return by_tiles(block, from, source_stride, to, target_stride, rows, cols);
  }
#endif
  by_element(from, source_stride, to, target_stride, rows, cols);
}

TransposeBlock find_transpose_here(int64_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return transpose<uint8_t>;
    case 2:
      return transpose<uint16_t>;
    case 4:
      return transpose<uint32_t>;
    case 8:
      return transpose<uint64_t>;
  }
  CENTAVO_UNREACHABLE();
}

}  // namespace
}  // namespace centavo::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "centavo/backend/cpu/levels.h"

namespace centavo::cpu {

TransposeBlock find_transpose(int64_t element_bytes, CpuLevel level) {
  return CENTAVO_AT_LEVEL(level, find_transpose_here)(element_bytes);
}

}  // namespace centavo::cpu
#endif
