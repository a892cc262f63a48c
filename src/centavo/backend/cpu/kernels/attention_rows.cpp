// Attention's row loops at every level, from one text.
#include "centavo/backend/cpu/kernels/attention_rows.h"

#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "centavo/base/bf16.h"

namespace centavo::cpu {
namespace {

namespace baseline {
constexpr int kLanes = 4;
#include "centavo/backend/cpu/kernels/attention_rows-inl.h"
}  // namespace baseline

#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace avx2 {
constexpr int kLanes = 8;
#include "centavo/backend/cpu/kernels/attention_rows-inl.h"
}  // namespace avx2
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")
#define CENTAVO_AVX512
namespace avx512 {
constexpr int kLanes = 16;
#include "centavo/backend/cpu/kernels/attention_rows-inl.h"
}  // namespace avx512
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")
#define CENTAVO_AVX512_BF16
namespace avx512_bf16 {
constexpr int kLanes = 16;
#include "centavo/backend/cpu/kernels/attention_rows-inl.h"
}  // namespace avx512_bf16
#undef CENTAVO_AVX512_BF16
#undef CENTAVO_AVX512
#pragma GCC pop_options
#endif

}  // namespace

const AttentionRows& attention_rows(DType dtype, CpuLevel level) {
  const bool halves = dtype == DType::kBF16;
  switch (level) {
#if defined(__x86_64__)
    case CpuLevel::kAvx512Bf16:
      return halves ? avx512_bf16::kTable<bf16, avx512_bf16::PairWords>
                    : avx512_bf16::kTable<float, avx512_bf16::FloatWords>;
    case CpuLevel::kAvx512:
      return halves ? avx512::kTable<bf16, avx512::RoundedWords>
                    : avx512::kTable<float, avx512::FloatWords>;
    case CpuLevel::kAvx2:
      return halves ? avx2::kTable<bf16, avx2::RoundedWords>
                    : avx2::kTable<float, avx2::FloatWords>;
#endif
    default:
      return halves ? baseline::kTable<bf16, baseline::RoundedWords>
                    : baseline::kTable<float, baseline::FloatWords>;
  }
}

}  // namespace centavo::cpu
