// The text of the micro-kernels, once, over an instruction set's vectors. Each micro_<level>.cpp
// defines its vectors and includes this inside an unnamed namespace, under its own target pragma.
//
// Math:  kLanes, V, zero(), load(p), store(p, v), add(a, b), broadcast(p): one word in every lane,
//        mul_add(c, a, b): c + the product of the words of a and b.
// Words: kLanes, kDepth, W, zero(), transpose(W[kLanes]),
//        store(p, w), store(p, w, words), store_halves(p, q, w),
//        along(src) and along(src, n): words of the (first n) elements that follow each other in K,
//        across(first, second) and across(first, second, n): words that have these (first n)
//        elements as their first and second ones; no `second` means zeros.
// No include guard: the including file decides how often.

template <class Math, int kRows, int kVectors>
void product(int64_t steps, const void* a, int64_t a_row, int64_t a_step, const void* b,
             int64_t b_step, float* c, int64_t ldc, bool accumulate, const MicroAhead& ahead) {
  using V = typename Math::V;
  V sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) sum[i][j] = Math::zero();
  }
  // Three pointers reach eight rows through addressing modes alone. The empty asm keeps the
  // compiler from inventing more of them, which costs spills and 2 % of the speed.
  static_assert(kRows <= 8);
  auto *a0 = static_cast<const char*>(a), *a3 = a0 + 3 * a_row, *a6 = a3 + 3 * a_row;
  auto* b_word = static_cast<const char*>(b);
  const auto step = [&]() __attribute__((always_inline)) {
    V bv[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) bv[j] = Math::load(b_word + j * 4 * Math::kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const V av = Math::broadcast((i < 3 ? a0 : i < 6 ? a3 : a6) + i % 3 * a_row);
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sum[i][j] = Math::mul_add(sum[i][j], av, bv[j]);
    }
    a0 += a_step, a3 += a_step, a6 += a_step, b_word += b_step;
    asm("" : "+r"(a0), "+r"(a3), "+r"(a6), "+r"(b_word));
  };
  auto* line = static_cast<const char*>(ahead.at);
  int64_t lines = ahead.count;
  const int64_t stride = ahead.stride;
  for (; steps >= 4; steps -= 4) {
    if (lines > 0) {
      __builtin_prefetch(line, 0, 2);
      __builtin_prefetch(line + stride, 0, 2);
      line += 2 * stride, lines -= 2;
    }
    step(), step(), step(), step();
  }
  for (; steps > 0; --steps) step();
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      float* to = c + i * ldc + j * Math::kLanes;
      Math::store(to, accumulate ? Math::add(Math::load(to), sum[i][j]) : sum[i][j]);
    }
  }
}

// Panels of `width` strips, `panel` words apart, cut into vectors of neighbouring strips: f(strip,
// count, offset, room, other) for each. Its first `count` strips exist; word 0 goes `offset` words
// from the step's first word, `room` of them beside each other, and the upper half, if `other`,
// that many words further.
template <class Words, class F>
void for_vectors(int64_t width, int64_t panel, int64_t count, F f) {
  constexpr int64_t kLanes = Words::kLanes;
  if (width * 2 == kLanes) {
    for (int64_t i = 0, at = 0; i < count; i += kLanes, at += 2 * panel) {
      f(i, std::min(count - i, kLanes), at, width, count - i > width ? panel : 0);
    }
    return;
  }
  for (int64_t i = 0, at = 0; i < count; i += width, at += panel) {
    for (int64_t j = 0; j < width; j += kLanes) {
      f(i + j, std::clamp<int64_t>(count - i - j, 0, kLanes), at + j, std::min(width - j, kLanes),
        0);
    }
  }
}

template <class Words>
void put(uint32_t* to, typename Words::W w, int64_t room, int64_t other) {
  if (room == Words::kLanes) {
    Words::store(to, w);
  } else if (other != 0) {
    Words::store_halves(to, to + other, w);
  } else {
    Words::store(to, w, room);
  }
}

// Elements follow each other across the strips: a few steps at a time, whose cache lines stay in L1
// even when rows are a power of two apart, vector by vector.
template <class Words, class T>
void pack_across(uint32_t* dst, int64_t width, int64_t panel, const T* src, int64_t k_stride,
                 int64_t count, int64_t k) {
  constexpr int64_t kDepth = Words::kDepth, kSteps = 16 / sizeof(T);
  for (int64_t at = 0; at < k; at += kSteps * kDepth) {
    const int64_t whole = std::min((k - at) / kDepth, kSteps);
    const bool odd = whole < kSteps && at + whole * kDepth < k;
    for_vectors<Words>(
        width, panel, count,
        [&](int64_t i, int64_t n, int64_t offset, int64_t room, int64_t other) {
          const T* from = src + at * k_stride + i;
          uint32_t* to = dst + at / kDepth * width + offset;
          for (int64_t s = 0; s < whole; ++s, to += width, from += kDepth * k_stride) {
            const T* second = from + (kDepth - 1) * k_stride;
            const auto w =
                n == Words::kLanes ? Words::across(from, second) : Words::across(from, second, n);
            put<Words>(to, w, room, other);
          }
          if (odd)
            put<Words>(to, Words::across(from, static_cast<const T*>(nullptr), n), room, other);
        });
  }
}

// Elements follow each other along K: squares of words, transposed in registers.
template <class Words, class T>
void pack_along(uint32_t* dst, int64_t width, int64_t panel, const T* src, int64_t stride,
                int64_t count, int64_t k) {
  constexpr int64_t kLanes = Words::kLanes, kSpan = kLanes * Words::kDepth;
  for_vectors<Words>(
      width, panel, count, [&](int64_t i, int64_t n, int64_t offset, int64_t room, int64_t other) {
        uint32_t* to = dst + offset;
        const T* from = src + i * stride;
        typename Words::W square[kLanes];
        int64_t at = 0;
        for (; n == kLanes && at + kSpan <= k; at += kSpan, to += kLanes * width) {
#pragma GCC unroll 16
          for (int64_t r = 0; r < kLanes; ++r) square[r] = Words::along(from + r * stride + at);
          Words::transpose(square);
#pragma GCC unroll 16
          for (int64_t s = 0; s < kLanes; ++s) put<Words>(to + s * width, square[s], room, other);
        }
        for (; at < k; at += kSpan, to += kLanes * width) {
          const int64_t span = std::min(k - at, kSpan);
          for (int64_t r = 0; r < kLanes; ++r) {
            square[r] = r < n ? Words::along(from + r * stride + at, span) : Words::zero();
          }
          Words::transpose(square);
          const int64_t steps = (span + Words::kDepth - 1) / Words::kDepth;
          for (int64_t s = 0; s < steps; ++s) put<Words>(to + s * width, square[s], room, other);
        }
      });
}

// Any strides, one element at a time.
template <class Words, class T>
void pack_strided(uint32_t* dst, int64_t width, int64_t panel, const T* src, int64_t stride,
                  int64_t k_stride, int64_t count, int64_t k) {
  for (int64_t at = 0; at < k; at += Words::kDepth, dst += width, src += Words::kDepth * k_stride) {
    const bool whole = at + Words::kDepth <= k;
    for_vectors<Words>(width, panel, count,
                       [&](int64_t i, int64_t n, int64_t offset, int64_t room, int64_t other) {
                         T first[Words::kLanes], second[Words::kLanes];
                         for (int64_t r = 0; r < n; ++r) {
                           const T* element = src + (i + r) * stride;
                           first[r] = element[0];
                           second[r] = whole ? element[(Words::kDepth - 1) * k_stride] : T{};
                         }
                         put<Words>(dst + offset, Words::across(first, second, n), room, other);
                       });
  }
}

template <class Words, class T>
void pack_typed(void* dst, int64_t width, int64_t panel_bytes, const void* src, int64_t stride,
                int64_t k_stride, int64_t count, int64_t k) {
  auto* to = static_cast<uint32_t*>(dst);
  auto* from = static_cast<const T*>(src);
  const int64_t panel = panel_bytes / int64_t{sizeof(uint32_t)};
  if (k_stride == 1 && (stride != 1 || count == 1)) {
    pack_along<Words>(to, width, panel, from, stride, count, k);
  } else if (stride == 1) {
    pack_across<Words>(to, width, panel, from, k_stride, count, k);
  } else {
    pack_strided<Words>(to, width, panel, from, stride, k_stride, count, k);
  }
}

template <class Words>
void pack(void* dst, int64_t width, int64_t panel_bytes, const void* src, DType dtype,
          int64_t stride, int64_t k_stride, int64_t count, int64_t k) {
  const auto typed = dtype == DType::kBF16 ? pack_typed<Words, bf16> : pack_typed<Words, float>;
  typed(dst, width, panel_bytes, src, stride, k_stride, count, k);
}

// products[r - 1][v - 1] for every r <= kRows and v <= kVectors.
template <class Math, int kRows, int kVectors>
void fill_products(Micro& table) {
  [&]<int... kI>(std::integer_sequence<int, kI...>) {
    ((table.products[kI / kVectors][kI % kVectors] =
          &product<Math, kI / kVectors + 1, kI % kVectors + 1>),
     ...);
  }
  (std::make_integer_sequence<int, kRows * kVectors>());
}
