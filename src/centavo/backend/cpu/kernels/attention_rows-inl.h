// The text of attention's row loops, once, over vectors of kLanes floats. attention_rows.cpp
// includes it for each level, inside a namespace that defines kLanes and under that level's target
// pragma. No include guard for that reason. Loads and stores go through memcpy: any alignment will
// do.

using V = float __attribute__((vector_size(4 * kLanes)));
using W = uint32_t __attribute__((vector_size(4 * kLanes)));
using Halves = uint16_t __attribute__((vector_size(2 * kLanes)));

template <class T>
T load(const void* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
void store(void* p, T v) {
  std::memcpy(p, &v, sizeof v);
}
V splat(float x) {
  return x - V{};
}
V max(V a, V b) {
  return a > b ? a : b;
}

// The lanes' numbers 0, 1, 2, ...
W lane_numbers() {
  W w;
  for (int i = 0; i < kLanes; ++i) w[i] = static_cast<uint32_t>(i);
  return w;
}
float largest(V v) {
  for (int half = kLanes / 2; half > 0; half /= 2) {
    v = max(v, __builtin_shuffle(v, lane_numbers() ^ static_cast<uint32_t>(half)));
  }
  return v[0];
}
float total(V v) {
  for (int half = kLanes / 2; half > 0; half /= 2) {
    v += __builtin_shuffle(v, lane_numbers() ^ static_cast<uint32_t>(half));
  }
  return v[0];
}

// 2^f for |f| <= 1/2, the minimax polynomials with a constant of exactly 1: relative error 1e-7, or
// 3e-6 where kShort.
template <bool kShort>
V exp2_of_fraction(V f) {
  V p;
  if constexpr (kShort) {
    p = f * 0.00958285509f + 0.0559064347f;
    p = p * f + 0.240240986f;
    p = p * f + 0.693124192f;
  } else {
    p = f * 0.00132647286f + 0.00967151372f;
    p = p * f + 0.0555073375f;
    p = p * f + 0.240222421f;
    p = p * f + 0.693146978f;
  }
  return p * f + 1.0f;
}

// 2^x for x up to 127, and 0 for -inf.
template <bool kShort>
V exp2_of(V x) {
#ifdef CENTAVO_AVX512
  const V f = _mm512_reduce_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  return _mm512_maskz_scalef_ps(0xffff, exp2_of_fraction<kShort>(f), x - f);
#else
  // Adding 1.5 * 2^23 leaves the nearest integer in the lowest bits, from where it goes to the
  // exponent. What lies below 2^-126 comes out as some number below it, from 2^-127 on as zero.
  constexpr float kRounder = 0x1.8p23f;
  x = max(splat(-127.0f), x);
  const V shifted = x + kRounder;
  const V p = exp2_of_fraction<kShort>(x - (shifted - kRounder));
  return (V)((W)p + ((W)shifted << 23));
#endif
}

// Rounding to bf16 is to nearest, ties to even. A NaN of arithmetic stays one.
W rounded(V x) {
  const W bits = (W)x;
  return bits + 0x7fffu + ((bits >> 16) & 1u);
}
#ifdef CENTAVO_AVX512_BF16
Halves narrow(V x) {
  return (Halves)_mm512_cvtneps_pbh(x);
}
#else
Halves narrow(V x) {
  return __builtin_convertvector(rounded(x) >> 16, Halves);
}
#endif
W widen(Halves h) {
  return __builtin_convertvector(h, W) << 16;
}

V load_elements(const float* p) {
  return load<V>(p);
}
V load_elements(const bf16* p) {
  return (V)widen(load<Halves>(p));
}
void store_elements(float* p, V x) {
  store(p, x);
}
void store_elements(bf16* p, V x) {
  store(p, narrow(x));
}

// How P and dS become words, kDepth rows or columns in each, and whether a short polynomial will do
// because they are rounded to bf16. store_along: numbers that follow each other in a row;
// store_across: of two rows.
struct FloatWords {
  static constexpr int kDepth = 1;
  static constexpr bool kShort = false;
  static void store_along(uint32_t* row, int64_t column, V x) { store(row + column, x); }
  static void store_across(uint32_t* p, int64_t ld, V upper, V lower) {
    store(p, upper);
    store(p + ld, lower);
  }
};
struct RoundedWords {  // bf16 numbers as fp32
  static constexpr int kDepth = 1;
  static constexpr bool kShort = true;
  static W round(V x) { return rounded(x) & 0xffff0000u; }
  static void store_along(uint32_t* row, int64_t column, V x) { store(row + column, round(x)); }
  static void store_across(uint32_t* p, int64_t ld, V upper, V lower) {
    store(p, round(upper));
    store(p + ld, round(lower));
  }
};
#ifdef CENTAVO_AVX512_BF16
struct PairWords {
  static constexpr int kDepth = 2;
  static constexpr bool kShort = true;
  static void store_along(uint32_t* row, int64_t column, V x) {
    store(reinterpret_cast<uint16_t*>(row) + column, narrow(x));
  }
  static __m512i pairs(__m512i halves) {
    const __m512i order = _mm512_add_epi32(
        _mm512_set1_epi32(0x00100000),
        _mm512_mullo_epi32(_mm512_set1_epi32(0x00010001), (__m512i)lane_numbers()));
    return _mm512_permutexvar_epi16(order, halves);
  }
  static void store_across(uint32_t* p, int64_t, V upper, V lower) {
    store(p, pairs((__m512i)_mm512_cvtne2ps_pbh(lower, upper)));
  }
  static void store_both(uint32_t* p, uint32_t* rows, int64_t ld, int64_t column, V upper,
                         V lower) {
    const __m512i halves = (__m512i)_mm512_cvtne2ps_pbh(lower, upper);
    store(p, pairs(halves));
    store(reinterpret_cast<uint16_t*>(rows) + column, _mm512_castsi512_si256(halves));
    store(reinterpret_cast<uint16_t*>(rows + ld) + column, _mm512_extracti64x4_epi64(halves, 1));
  }
};
#endif

// Lanes from `count` on replaced.
V keep(V v, int64_t count, float other) {
  return lane_numbers() < static_cast<uint32_t>(count) ? v : splat(other);
}

float largest_of(const float* row, int64_t count) {
  V top = splat(-__builtin_inff());
  int64_t c = 0;
  for (; c + kLanes <= count; c += kLanes) top = max(top, load<V>(row + c));
  if (c < count) top = max(top, keep(load<V>(row + c), count - c, -__builtin_inff()));
  return largest(top);
}

template <class Words>
void softmax(float* s, int64_t ld, int64_t rows, int64_t columns, Visible visible, float log2_scale,
             SoftmaxState* states) {
  for (int64_t r = 0; r < rows; ++r) {
    const float before = states[r].max, block = largest_of(s + r * ld, visible.in_row(r));
    states[r].max = before > block ? before : block;
    states[r].rescale =
        states[r].sum > 0 ? __builtin_exp2f((before - states[r].max) * log2_scale) : 0;
  }
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = s + r * ld;
    auto* words = reinterpret_cast<uint32_t*>(s + r * ld);
    const V top = splat(states[r].max);
    const int64_t count = visible.in_row(r);
    V sum{};
    int64_t c = 0;
    for (; c + kLanes <= count; c += kLanes) {
      const V p = exp2_of<Words::kShort>((load<V>(row + c) - top) * log2_scale);
      sum += p;
      Words::store_along(words, c, p);
    }
    if (c < count) {
      const V p = exp2_of<Words::kShort>((load<V>(row + c) - top) * log2_scale);
      sum += keep(p, count - c, 0);
      Words::store_along(words, c, keep(p, count - c, 0));
      c += kLanes;
    }
    for (; c < columns; c += kLanes) Words::store_along(words, c, V{});
    states[r].sum = states[r].sum * states[r].rescale + total(sum);
  }
}

// P and dS of one vector of row r; where not kWhole, zero in the columns that the row does not see.
struct Gradient {
  V p, d_s;
};
template <bool kShort, bool kWhole>
Gradient gradient_at(const GradientTile& t, int64_t r, int64_t c) {
  V p = exp2_of<kShort>(load<V>(t.s + r * t.ld + c) * t.log2_scale - t.log2_sum[r]);
  if constexpr (!kWhole) {
    const int64_t seen = t.visible.in_row(r) - c;
    p = keep(p, seen > 0 ? seen : 0, 0);
  }
  return {p, p * (load<V>(t.d_p + r * t.ld + c) - t.delta[r])};
}

template <class Words, bool kWhole>
void gradient_rows(const GradientTile& t, int64_t r) {
  for (int64_t c = 0; c < t.columns; c += kLanes) {
    const Gradient upper = gradient_at<Words::kShort, kWhole>(t, r, c);
    const Gradient lower =
        r + 1 < t.rows ? gradient_at<Words::kShort, kWhole>(t, r + 1, c) : Gradient{};
    const int64_t to = r / Words::kDepth * t.words_ld + c;
    Words::store_across(t.p + to, t.words_ld, upper.p, lower.p);
    if constexpr (Words::kDepth > 1) {
      Words::store_both(t.d_s + to, t.d_s_rows + r * t.rows_ld, t.rows_ld, c, upper.d_s, lower.d_s);
    } else {
      Words::store_across(t.d_s + to, t.words_ld, upper.d_s, lower.d_s);
    }
  }
}

template <class Words>
void gradient(const GradientTile& t) {
  const bool whole = t.visible.in_row(0) >= t.columns;  // the rows below see no less
  for (int64_t r = 0; r < t.rows; r += 2) {
    whole ? gradient_rows<Words, true>(t, r) : gradient_rows<Words, false>(t, r);
  }
}

template <class T>
void store_scaled(const float* src, float factor, void* dst, int64_t count) {
  T* to = static_cast<T*>(dst);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store_elements(to + i, load<V>(src + i) * factor);
  for (; i < count; ++i) to[i] = static_cast<T>(src[i] * factor);
}

template <class T>
float dot(const void* a, const void* b, int64_t count) {
  const T *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
  V sum{};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) sum += load_elements(x + i) * load_elements(y + i);
  float rest = 0;
  for (; i < count; ++i) rest += static_cast<float>(x[i]) * static_cast<float>(y[i]);
  return total(sum) + rest;
}

template <class T, class Words>
constexpr AttentionRows kTable = {softmax<Words>, gradient<Words>, store_scaled<T>, dot<T>};
