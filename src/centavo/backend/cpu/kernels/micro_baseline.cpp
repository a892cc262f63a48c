// Micro-kernels for any processor, of 128-bit compiler vectors: SSE2 on x86-64, NEON on AArch64.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "centavo/backend/cpu/kernels/micro_levels.h"

namespace centavo::cpu {
namespace {

#include "centavo/backend/cpu/kernels/micro-inl.h"

struct F32Math {
  static constexpr int kLanes = 4;
  using V = float __attribute__((vector_size(16)));
  static V zero() { return V{}; }
  static V load(const void* p) {
    V v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static void store(float* p, V v) { std::memcpy(p, &v, sizeof v); }
  static V add(V a, V b) { return a + b; }
  static V broadcast(const void* p) {
    float word;
    std::memcpy(&word, p, sizeof word);
    return V{word, word, word, word};
  }
  static V mul_add(V c, V a, V b) { return c + a * b; }
};

// fp32 words; kRounds rounds them to bf16 first.
template <bool kRounds>
struct F32Words {
  static constexpr int kLanes = 4, kDepth = 1;
  using W = uint32_t __attribute__((vector_size(16)));
  static W zero() { return W{}; }
  static void store(uint32_t* p, W w) { std::memcpy(p, &w, sizeof w); }
  static void store(uint32_t* p, W w, int64_t words) {
    std::memcpy(p, &w, static_cast<size_t>(words) * sizeof(uint32_t));
  }
  static void store_halves(uint32_t* p, uint32_t* q, W w) {
    std::memcpy(p, &w, sizeof w / 2);
    std::memcpy(q, reinterpret_cast<const char*>(&w) + sizeof w / 2, sizeof w / 2);
  }
  template <class T>
  static W along(const T* src, int64_t n) {
    W w{};
    for (int64_t i = 0; i < n; ++i) {
      const auto x = static_cast<float>(src[i]);
      w[i] = std::bit_cast<uint32_t>(kRounds ? static_cast<float>(bf16(x)) : x);
    }
    return w;
  }
  template <class T>
  static W along(const T* src) {
    return along(src, kLanes);
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
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < i; ++j) {
        const uint32_t word = w[i][j];
        w[i][j] = w[j][i];
        w[j][i] = word;
      }
    }
  }
};

void store(const float* src, void* dst, DType dtype, bool accumulate, int64_t count) {
  if (dtype == DType::kF32) {
    auto* to = static_cast<float*>(dst);
    for (int64_t i = 0; i < count; ++i) to[i] = accumulate ? to[i] + src[i] : src[i];
  } else {
    auto* to = static_cast<bf16*>(dst);
    for (int64_t i = 0; i < count; ++i) to[i] = bf16(accumulate ? to[i] + src[i] : src[i]);
  }
}

#if defined(__x86_64__)
constexpr int kRows = 6, kVectors = 2;  // 16 registers
#else
constexpr int kRows = 8, kVectors = 3;  // 32 registers
#endif

}  // namespace

Micro make_micro_baseline(bool rounds) {
  Micro table{.word = DType::kF32,
              .rounds = rounds,
              .depth = 1,
              .lanes = F32Math::kLanes,
              .rows = kRows,
              .vectors = kVectors,
              .products = {},
              .pack = rounds ? pack<F32Words<true>> : pack<F32Words<false>>,
              .store = store};
  fill_products<F32Math, kRows, kVectors>(table);
  return table;
}

}  // namespace centavo::cpu
