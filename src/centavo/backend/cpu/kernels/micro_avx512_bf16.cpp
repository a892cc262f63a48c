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

__m256i load16(const bf16* src) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src));
}

// Words of two bf16.
struct Bf16Words : Words512 {
  static constexpr int kDepth = 2;
  static W along(const float* src) {
    return reinterpret_cast<W>(
        _mm512_cvtne2ps_pbh(_mm512_loadu_ps(src + 16), _mm512_loadu_ps(src)));
  }
  static W along(const float* src, int64_t n) {
    const __m512 low = _mm512_maskz_loadu_ps(first16(std::min<int64_t>(n, 16)), src);
    const __m512 high = n > 16 ? _mm512_maskz_loadu_ps(first16(n - 16), src + 16) : __m512{};
    return reinterpret_cast<W>(_mm512_cvtne2ps_pbh(high, low));
  }
  static W along(const bf16* src) { return _mm512_loadu_si512(src); }
  static W along(const bf16* src, int64_t n) {
    return _mm512_maskz_loadu_epi16(static_cast<__mmask32>((uint64_t{1} << n) - 1), src);
  }
  static W across(const float* first, const float* second) {
    return interleave(
        reinterpret_cast<W>(_mm512_cvtne2ps_pbh(_mm512_loadu_ps(second), _mm512_loadu_ps(first))));
  }
  static W across(const float* first, const float* second, int64_t n) {
    const __m512 high = second ? _mm512_maskz_loadu_ps(first16(n), second) : __m512{};
    return interleave(
        reinterpret_cast<W>(_mm512_cvtne2ps_pbh(high, _mm512_maskz_loadu_ps(first16(n), first))));
  }
  static W across(const bf16* first, const bf16* second) {
    return interleave(join(load16(first), load16(second)));
  }
  static W across(const bf16* first, const bf16* second, int64_t n) {
    const __m256i high = second ? _mm256_maskz_loadu_epi16(first16(n), second) : __m256i{};
    return interleave(join(_mm256_maskz_loadu_epi16(first16(n), first), high));
  }

 private:
  static W join(__m256i low, __m256i high) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  }
  // Alternates the halves' elements.
  static W interleave(W halves) {
    alignas(64) static constexpr uint16_t kOrder[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                        21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                        11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    return _mm512_permutexvar_epi16(_mm512_load_si512(kOrder), halves);
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
