// Vectors of 16 words, shared by the levels avx512 and avx512_bf16; included as micro-inl.h is.

__mmask16 first16(int64_t n) {
  return static_cast<__mmask16>((1u << n) - 1);
}

struct F32Math {
  static constexpr int kLanes = 16;
  using V = __m512;
  static V zero() { return _mm512_setzero_ps(); }
  static V load(const void* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, V v) { _mm512_storeu_ps(p, v); }
  static V add(V a, V b) { return _mm512_add_ps(a, b); }
  static V broadcast(const void* p) {
    float word;
    std::memcpy(&word, p, sizeof word);
    return _mm512_set1_ps(word);
  }
  static V mul_add(V c, V a, V b) { return _mm512_fmadd_ps(a, b, c); }
};

struct Words512 {
  static constexpr int kLanes = 16;
  using W = __m512i;
  static W zero() { return _mm512_setzero_si512(); }
  static void store(uint32_t* p, W w) { _mm512_storeu_si512(p, w); }
  static void store(uint32_t* p, W w, int64_t words) {
    _mm512_mask_storeu_epi32(p, first16(words), w);
  }
  static void store_halves(uint32_t* p, uint32_t* q, W w) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_castsi512_si256(w));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(q), _mm512_extracti64x4_epi64(w, 1));
  }
  // Four rounds of exchanging halves: of pairs of words, of quadruples, of 128-bit and of 256-bit
  // parts.
  static void transpose(W* w) {
    W t[16];
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2) {
      t[i] = _mm512_unpacklo_epi32(w[i], w[i + 1]);
      t[i + 1] = _mm512_unpackhi_epi32(w[i], w[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
      w[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
      w[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
      w[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
      w[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      t[i] = _mm512_shuffle_i32x4(w[i], w[i + 4], 0x88);
      t[i + 4] = _mm512_shuffle_i32x4(w[i], w[i + 4], 0xdd);
      t[i + 8] = _mm512_shuffle_i32x4(w[i + 8], w[i + 12], 0x88);
      t[i + 12] = _mm512_shuffle_i32x4(w[i + 8], w[i + 12], 0xdd);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      w[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
      w[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
    }
  }
};

__m512 widen(__m256i halves) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

// Fp32 rounded to bf16, nearest and ties to even, still as fp32; a NaN stays a NaN.
__m512i round_to_bf16(__m512 x) {
  const __m512i bits = _mm512_castps_si512(x);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i up = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  const __m512i kept = _mm512_mask_or_epi32(up, nan, bits, _mm512_set1_epi32(0x400000));
  return _mm512_and_si512(kept, _mm512_set1_epi32(static_cast<int>(0xffff0000u)));
}

// fp32 words; kRounds rounds them to bf16 first.
template <bool kRounds>
struct F32Words : Words512 {
  static constexpr int kDepth = 1;
  static W along(const float* src) { return word(_mm512_loadu_ps(src)); }
  static W along(const float* src, int64_t n) {
    return word(_mm512_maskz_loadu_ps(first16(n), src));
  }
  static W along(const bf16* src) {
    return _mm512_castps_si512(widen(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(src))));
  }
  static W along(const bf16* src, int64_t n) {
    return _mm512_castps_si512(widen(_mm256_maskz_loadu_epi16(first16(n), src)));
  }
  template <class T>
  static W across(const T* first, const T*) {
    return along(first);
  }
  template <class T>
  static W across(const T* first, const T*, int64_t n) {
    return along(first, n);
  }

 private:
  static W word(__m512 x) { return kRounds ? round_to_bf16(x) : _mm512_castps_si512(x); }
};

// kNarrow makes 16 bf16 of 16 fp32.
template <__m256i (*kNarrow)(__m512)>
void store(const float* src, void* dst, DType dtype, bool accumulate, int64_t count) {
  for (int64_t i = 0; i < count; i += 16) {
    const __mmask16 mask = first16(std::min<int64_t>(count - i, 16));
    __m512 x = _mm512_maskz_loadu_ps(mask, src + i);
    if (dtype == DType::kF32) {
      float* to = static_cast<float*>(dst) + i;
      if (accumulate) x = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, to), x);
      _mm512_mask_storeu_ps(to, mask, x);
    } else {
      bf16* to = static_cast<bf16*>(dst) + i;
      if (accumulate) x = _mm512_add_ps(widen(_mm256_maskz_loadu_epi16(mask, to)), x);
      _mm256_mask_storeu_epi16(to, mask, kNarrow(x));
    }
  }
}
