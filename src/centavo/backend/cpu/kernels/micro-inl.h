// The text of the micro-kernels, once, over an instruction set's vectors. Each micro_<level>.cpp
// defines its vectors and includes this inside an unnamed namespace, under its own target pragma.
//
// Math:  kLanes, V, zero(), load(p), store(p, v), add(a, b), broadcast(p): one word in every lane,
//        mul_add(c, a, b): c + the product of the words of a and b.
// Words: kLanes, kDepth, W, zero(), store(p, w, words),
//        along(src, n): the words made of n <= kLanes * kDepth elements that follow each other in
//        K, across(first, second, n): words of which n <= kLanes have these first (and second)
//        elements, transpose(W[kLanes]).
// No include guard: the including file decides how often.

template <class Math, int kRows, int kVectors>
void product(int64_t steps, const void* a, int64_t a_row, int64_t a_step, const void* b,
             int64_t b_step, float* c, int64_t ldc, bool accumulate) {
  using V = typename Math::V;
  V sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) sum[i][j] = Math::zero();
  }
  auto* a_word = static_cast<const char*>(a);
  auto* b_word = static_cast<const char*>(b);
  for (int64_t s = 0; s < steps; ++s, a_word += a_step, b_word += b_step) {
    V bv[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) bv[j] = Math::load(b_word + j * 4 * Math::kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const V av = Math::broadcast(a_word + i * a_row);
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sum[i][j] = Math::mul_add(sum[i][j], av, bv[j]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      float* to = c + i * ldc + j * Math::kLanes;
      Math::store(to, accumulate ? Math::add(Math::load(to), sum[i][j]) : sum[i][j]);
    }
  }
}

// Elements of a row or column of the strip follow each other along it: whole words at once.
template <class Words, class T>
void pack_across(uint32_t* dst, int64_t width, const T* src, int64_t k_stride, int64_t count,
                 int64_t k) {
  for (int64_t at = 0; at < k; at += Words::kDepth, dst += width, src += Words::kDepth * k_stride) {
    const T* second = at + Words::kDepth <= k ? src + (Words::kDepth - 1) * k_stride : nullptr;
    for (int64_t i = 0; i < width; i += Words::kLanes) {
      const int64_t n = std::clamp<int64_t>(count - i, 0, Words::kLanes);
      Words::store(dst + i, Words::across(src + i, second ? second + i : nullptr, n),
                   std::min<int64_t>(width - i, Words::kLanes));
    }
  }
}

// Elements follow each other along K: squares of words, transposed in registers.
template <class Words, class T>
void pack_along(uint32_t* dst, int64_t width, const T* src, int64_t stride, int64_t count,
                int64_t k) {
  constexpr int64_t kLanes = Words::kLanes, kSpan = kLanes * Words::kDepth;
  for (int64_t i = 0; i < width; i += kLanes) {
    const int64_t rows = std::clamp<int64_t>(count - i, 0, kLanes);
    const int64_t store_width = std::min(width - i, kLanes);
    for (int64_t at = 0; at < k; at += kSpan) {
      const int64_t span = std::min(k - at, kSpan);
      typename Words::W square[kLanes];
#pragma GCC unroll 16
      for (int64_t r = 0; r < kLanes; ++r) {
        square[r] = r < rows ? Words::along(src + (i + r) * stride + at, span) : Words::zero();
      }
      Words::transpose(square);
      const int64_t steps = (span + Words::kDepth - 1) / Words::kDepth;
      uint32_t* to = dst + at / Words::kDepth * width + i;
#pragma GCC unroll 16
      for (int64_t s = 0; s < kLanes; ++s) {
        if (s < steps) Words::store(to + s * width, square[s], store_width);
      }
    }
  }
}

// Any strides, one element at a time.
template <class Words, class T>
void pack_strided(uint32_t* dst, int64_t width, const T* src, int64_t stride, int64_t k_stride,
                  int64_t count, int64_t k) {
  for (int64_t at = 0; at < k; at += Words::kDepth, dst += width, src += Words::kDepth * k_stride) {
    const bool whole = at + Words::kDepth <= k;
    for (int64_t i = 0; i < width; i += Words::kLanes) {
      const int64_t n = std::clamp<int64_t>(count - i, 0, Words::kLanes);
      T first[Words::kLanes], second[Words::kLanes];
      for (int64_t r = 0; r < n; ++r) {
        const T* element = src + (i + r) * stride;
        first[r] = element[0];
        second[r] = whole ? element[(Words::kDepth - 1) * k_stride] : T{};
      }
      Words::store(dst + i, Words::across(first, second, n),
                   std::min<int64_t>(width - i, Words::kLanes));
    }
  }
}

template <class Words, class T>
void pack_typed(void* dst, int64_t width, const void* src, int64_t stride, int64_t k_stride,
                int64_t count, int64_t k) {
  auto* to = static_cast<uint32_t*>(dst);
  auto* from = static_cast<const T*>(src);
  if (k_stride == 1 && (stride != 1 || count == 1)) {
    return pack_along<Words>(to, width, from, stride, count, k);
  }
  if (stride == 1) return pack_across<Words>(to, width, from, k_stride, count, k);
  pack_strided<Words>(to, width, from, stride, k_stride, count, k);
}

template <class Words>
void pack(void* dst, int64_t width, const void* src, DType dtype, int64_t stride, int64_t k_stride,
          int64_t count, int64_t k) {
  if (dtype == DType::kBF16) {
    pack_typed<Words, bf16>(dst, width, src, stride, k_stride, count, k);
  } else {
    pack_typed<Words, float>(dst, width, src, stride, k_stride, count, k);
  }
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
