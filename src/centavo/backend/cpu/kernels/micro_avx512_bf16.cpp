// Micro-kernels of the level avx512_bf16: products of bf16 pairs, summed in fp32 by one
// instruction.
#include "centavo/backend/cpu/kernels/micro_levels.h"

#if defined(__x86_64__)
#include <algorithm>
#include <cstring>
#include <immintrin.h>
#include <utility>

#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")

namespace centavo::cpu {
namespace {

#include "centavo/backend/cpu/kernels/micro-inl.h"
#include "centavo/backend/cpu/kernels/micro_avx512-inl.h"

__m256i narrow(__m512 x) {
  return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x));
}

struct Bf16Math : F32Math {
  static V mul_add(V c, V a, V b) {
    return _mm512_dpbf16_ps(c, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
  }
};

// Words of two bf16.
struct Bf16Words : Words512 {
  static constexpr int kDepth = 2;
  static W along(const float* src, int64_t n) {
    const __m512 low = _mm512_maskz_loadu_ps(first16(std::min<int64_t>(n, 16)), src);
    const __m512 high = n > 16 ? _mm512_maskz_loadu_ps(first16(n - 16), src + 16) : __m512{};
    return reinterpret_cast<W>(_mm512_cvtne2ps_pbh(high, low));
  }
  static W along(const bf16* src, int64_t n) {
    return _mm512_maskz_loadu_epi16(static_cast<__mmask32>((uint64_t{1} << n) - 1), src);
  }
  static W across(const float* first, const float* second, int64_t n) {
    return interleave(half(first, n), second ? half(second, n) : __m256i{});
  }
  static W across(const bf16* first, const bf16* second, int64_t n) {
    return interleave(_mm256_maskz_loadu_epi16(first16(n), first),
                      second ? _mm256_maskz_loadu_epi16(first16(n), second) : __m256i{});
  }

 private:
  static __m256i half(const float* src, int64_t n) {
    return narrow(_mm512_maskz_loadu_ps(first16(n), src));
  }
  static W interleave(__m256i low, __m256i high) {
    return _mm512_or_si512(_mm512_cvtepu16_epi32(low),
                           _mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16));
  }
};

}  // namespace

Micro make_micro_avx512_bf16() {
  Micro table{.word = DType::kBF16,
              .rounds = false,
              .depth = 2,
              .lanes = 16,
              .rows = 8,
              .vectors = 3,
              .products = {},
              .pack = pack<Bf16Words>,
              .store = store<narrow>};
  fill_products<Bf16Math, 8, 3>(table);
  fill_products<Bf16Math, 6, 4>(table);
  return table;
}

}  // namespace centavo::cpu

#pragma GCC pop_options
#endif
