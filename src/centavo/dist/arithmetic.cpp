// Loops that the compiler vectorizes, block by block so that what one pass writes is still in cache
// for the next.
#include "centavo/dist/arithmetic.h"

#include <algorithm>
#include <array>

#include "centavo/base/error.h"

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define CENTAVO_DIST_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CENTAVO_DIST_CLONES
#endif

namespace centavo::dist {
namespace {

constexpr int64_t kBlock = 2048;

template <class T>
T* at(std::byte* slot, int64_t i) {
  return reinterpret_cast<T*>(slot) + i;
}

CENTAVO_DIST_CLONES void add_f32(const float* in, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = in[i] + out[i];
}
CENTAVO_DIST_CLONES void scale_f32(const float* in, float* out, float scale, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = in[i] * scale;
}
// Two ranks are the common case: one pass.
CENTAVO_DIST_CLONES void sum_two(float* a, float* b, float scale, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const float sum = (a[i] + b[i]) * scale;
    a[i] = sum;
    b[i] = sum;
  }
}
CENTAVO_DIST_CLONES void widen(const bf16* in, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(in[i]);
}
CENTAVO_DIST_CLONES void widen_add(const bf16* in, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] += static_cast<float>(in[i]);
}
CENTAVO_DIST_CLONES void narrow(const float* in, bf16* out, float scale, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = bf16(in[i] * scale);
}

void sum_f64(std::span<std::byte* const> slots, int64_t begin, int64_t end, double scale) {
  for (int64_t i = begin; i < end; ++i) {
    double sum = 0;
    for (std::byte* slot : slots) sum += *at<double>(slot, i);
    for (std::byte* slot : slots) *at<double>(slot, i) = sum * scale;
  }
}

// Calls f(begin, count) for each block of [begin, end).
template <class F>
void in_blocks(int64_t begin, int64_t end, F f) {
  for (int64_t i = begin; i < end; i += kBlock) f(i, std::min(kBlock, end - i));
}

}  // namespace

void add(const float* in, float* out, int64_t n) {
  add_f32(in, out, n);
}

void sum_to(std::span<std::byte* const> slots, int64_t begin, int64_t end, DType dtype,
            float* out) {
  CENTAVO_CHECK(dtype == DType::kF32 || dtype == DType::kBF16);
  in_blocks(begin, end, [&](int64_t i, int64_t n) {
    float* sum = out + (i - begin);
    for (size_t s = 0; s < slots.size(); ++s) {
      if (dtype == DType::kBF16) {
        (s == 0 ? widen : widen_add)(at<bf16>(slots[s], i), sum, n);
      } else if (s == 0) {
        std::copy_n(at<float>(slots[s], i), n, sum);
      } else {
        add_f32(at<float>(slots[s], i), sum, n);
      }
    }
  });
}

void store_to(std::span<std::byte* const> slots, int64_t begin, int64_t end, DType dtype,
              const float* in, double scale) {
  in_blocks(begin, end, [&](int64_t i, int64_t n) {
    for (std::byte* slot : slots) {
      if (dtype == DType::kBF16)
        narrow(in + (i - begin), at<bf16>(slot, i), static_cast<float>(scale), n);
      else
        scale_f32(in + (i - begin), at<float>(slot, i), static_cast<float>(scale), n);
    }
  });
}

void sum_in_place(std::span<std::byte* const> slots, int64_t begin, int64_t end, DType dtype,
                  double scale) {
  if (dtype == DType::kF64) return sum_f64(slots, begin, end, scale);
  if (dtype == DType::kF32 && slots.size() == 2) {
    return sum_two(at<float>(slots[0], begin), at<float>(slots[1], begin),
                   static_cast<float>(scale), end - begin);
  }
  alignas(64) std::array<float, kBlock> sum;
  in_blocks(begin, end, [&](int64_t i, int64_t n) {
    sum_to(slots, i, i + n, dtype, sum.data());
    store_to(slots, i, i + n, dtype, sum.data(), scale);
  });
}

Span part_of(int64_t count, int index, int parts, int64_t unit) {
  const int64_t units = (count + unit - 1) / unit;
  return {std::min(count, units * index / parts * unit),
          std::min(count, units * (index + 1) / parts * unit)};
}

}  // namespace centavo::dist
