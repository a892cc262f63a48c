// Micro-kernels of the level avx2: fp32 instructions, 8 lanes, 16 registers.
#include "centavo/backend/cpu/kernels/micro_levels.h"

#if defined(__x86_64__)
#include <algorithm>
#include <cstring>
#include <immintrin.h>
#include <utility>

#pragma GCC push_options
#pragma GCC target("avx2,fma")

namespace centavo::cpu {
namespace {

#include "centavo/backend/cpu/kernels/micro-inl.h"

struct F32Math {
  static constexpr int kLanes = 8;
  using V = __m256;
  static V zero() { return _mm256_setzero_ps(); }
  static V load(const void* p) { return _mm256_loadu_ps(static_cast<const float*>(p)); }
  static void store(float* p, V v) { _mm256_storeu_ps(p, v); }
  static V add(V a, V b) { return _mm256_add_ps(a, b); }
  static V broadcast(const void* p) { return _mm256_broadcast_ss(static_cast<const float*>(p)); }
  static V mul_add(V c, V a, V b) { return _mm256_fmadd_ps(a, b, c); }
};

__m256i first8(int64_t n) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lane);
}

__m256 widen(__m128i halves) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}

// Fp32 rounded to bf16, nearest and ties to even, still as fp32; a NaN stays a NaN.
__m256i round_to_bf16(__m256 x) {
  const __m256i bits = _mm256_castps_si256(x);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  return _mm256_and_si256(_mm256_blendv_epi8(up, quiet, nan),
                          _mm256_set1_epi32(static_cast<int>(0xffff0000u)));
}

// Eight bf16 of eight fp32.
__m128i narrow(__m256 x) {
  const __m256i high = _mm256_srli_epi32(round_to_bf16(x), 16);
  return _mm_packus_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1));
}

// fp32 words; kRounds rounds them to bf16 first.
template <bool kRounds>
struct F32Words {
  static constexpr int kLanes = 8, kDepth = 1;
  using W = __m256i;
  static W zero() { return _mm256_setzero_si256(); }
  static void store(uint32_t* p, W w) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), w); }
  // Masked stores of this level are slow on many processors.
  static void store(uint32_t* p, W w, int64_t words) {
    __m128i rest = _mm256_castsi256_si128(w);
    if (words & 8) return store(p, w);
    if (words & 4) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(p), rest);
      rest = _mm256_extracti128_si256(w, 1);
      p += 4;
    }
    if (words & 2) {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(p), rest);
      rest = _mm_srli_si128(rest, 8);
      p += 2;
    }
    if (words & 1) *p = static_cast<uint32_t>(_mm_cvtsi128_si32(rest));
  }
  static void store_halves(uint32_t* p, uint32_t* q, W w) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(w));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(q), _mm256_extracti128_si256(w, 1));
  }
  static W along(const float* src) { return word(_mm256_loadu_ps(src)); }
  static W along(const float* src, int64_t n) { return word(_mm256_maskload_ps(src, first8(n))); }
  static W along(const bf16* src) {
    return _mm256_castps_si256(widen(_mm_loadu_si128(reinterpret_cast<const __m128i*>(src))));
  }
  static W along(const bf16* src, int64_t n) {
    __m128i halves = _mm_setzero_si128();
    std::memcpy(&halves, src, static_cast<size_t>(n) * sizeof(bf16));
    return _mm256_castps_si256(widen(halves));
  }
  template <class T>
  static W across(const T* first, const T*) {
    return along(first);
  }
  template <class T>
  static W across(const T* first, const T*, int64_t n) {
    return along(first, n);
  }
  static void transpose(W* w) {
    W t[8];
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
      t[i] = _mm256_unpacklo_epi32(w[i], w[i + 1]);
      t[i + 1] = _mm256_unpackhi_epi32(w[i], w[i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
      w[i] = _mm256_unpacklo_epi64(t[i], t[i + 2]);
      w[i + 1] = _mm256_unpackhi_epi64(t[i], t[i + 2]);
      w[i + 2] = _mm256_unpacklo_epi64(t[i + 1], t[i + 3]);
      w[i + 3] = _mm256_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      t[i] = _mm256_permute2x128_si256(w[i], w[i + 4], 0x20);
      t[i + 4] = _mm256_permute2x128_si256(w[i], w[i + 4], 0x31);
    }
    std::copy(t, t + 8, w);
  }

 private:
  static W word(__m256 x) {
    return kRounds ? round_to_bf16(x) : _mm256_castps_si256(x);
  }
};

void store(const float* src, void* dst, DType dtype, bool accumulate, int64_t count) {
  for (int64_t i = 0; i < count; i += 8) {
    const int64_t n = std::min<int64_t>(count - i, 8);
    const __m256i mask = first8(n);
    __m256 x = _mm256_maskload_ps(src + i, mask);
    if (dtype == DType::kF32) {
      float* to = static_cast<float*>(dst) + i;
      if (accumulate) x = _mm256_add_ps(_mm256_maskload_ps(to, mask), x);
      _mm256_maskstore_ps(to, mask, x);
    } else {
      bf16* to = static_cast<bf16*>(dst) + i;
      if (accumulate) x = _mm256_add_ps(_mm256_castsi256_ps(F32Words<false>::along(to, n)), x);
      const __m128i halves = narrow(x);
      std::memcpy(static_cast<void*>(to), &halves, static_cast<size_t>(n) * sizeof(bf16));
    }
  }
}

}  // namespace

Micro make_micro_avx2(bool rounds) {
  Micro table{.word = DType::kF32,
              .rounds = rounds,
              .depth = 1,
              .lanes = 8,
              .rows = 6,
              .vectors = 2,
              .products = {},
              .pack = rounds ? pack<F32Words<true>> : pack<F32Words<false>>,
              .store = store};
  fill_products<F32Math, 6, 2>(table);
  return table;
}

}  // namespace centavo::cpu

#pragma GCC pop_options
#endif
