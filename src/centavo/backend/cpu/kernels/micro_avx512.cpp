// Micro-kernels of the level avx512: fp32 instructions, 16 lanes, 32 registers.
#include "centavo/backend/cpu/kernels/micro_levels.h"

#if defined(__x86_64__)
#include <algorithm>
#include <cstring>
#include <immintrin.h>
#include <utility>

#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")

namespace centavo::cpu {
namespace {

#include "centavo/backend/cpu/kernels/micro-inl.h"
#include "centavo/backend/cpu/kernels/micro_avx512-inl.h"

__m256i narrow(__m512 x) {
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(round_to_bf16(x), 16));
}

}  // namespace

Micro make_micro_avx512(bool rounds) {
  Micro table{.word = DType::kF32,
              .rounds = rounds,
              .depth = 1,
              .lanes = 16,
              .rows = 8,
              .vectors = 3,
              .products = {},
              .pack = rounds ? pack<F32Words<true>> : pack<F32Words<false>>,
              .store = store<narrow>};
  fill_products<F32Math, 8, 3>(table);
  fill_products<F32Math, 6, 4>(table);
  return table;
}

}  // namespace centavo::cpu

#pragma GCC pop_options
#endif
