// Twelve independent chains of multiply-adds in registers, long enough for a steady clock.
#include "peak.h"

#include <algorithm>
#include <chrono>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace centavo::bench {
namespace {

constexpr int kChains = 12;
constexpr int64_t kRounds = 10'000'000;

// Runs kRounds rounds of `step` on kChains accumulators; the empty asm keeps the loop from folding.
#define CENTAVO_CHAINS(Vec, zero, step, constraint)             \
  Vec chain[kChains];                                           \
  for (auto& c : chain) c = zero;                               \
  for (int64_t round = 0; round < kRounds; ++round) {           \
    for (auto& c : chain) c = step;                             \
    for (auto& c : chain) asm volatile("" : "+" constraint(c)); \
  }

#if defined(__x86_64__)
__attribute__((target("avx512f,avx512bf16"))) void chains_avx512_bf16() {
  const auto ones = reinterpret_cast<__m512bh>(_mm512_set1_epi32(0x3f803f80));
  CENTAVO_CHAINS(__m512, _mm512_setzero_ps(), _mm512_dpbf16_ps(c, ones, ones), "v")
}

__attribute__((target("avx512f"))) void chains_avx512() {
  const __m512 one = _mm512_set1_ps(1), small = _mm512_set1_ps(1e-9f);
  CENTAVO_CHAINS(__m512, _mm512_setzero_ps(), _mm512_fmadd_ps(one, small, c), "v")
}

__attribute__((target("avx2,fma"))) void chains_avx2() {
  const __m256 one = _mm256_set1_ps(1), small = _mm256_set1_ps(1e-9f);
  CENTAVO_CHAINS(__m256, _mm256_setzero_ps(), _mm256_fmadd_ps(one, small, c), "x")
}
#define CENTAVO_REGISTER "x"
#else
#define CENTAVO_REGISTER "w"
#endif

void chains_baseline() {
  using V = float __attribute__((vector_size(16)));
  const V one = {1, 1, 1, 1}, small = {1e-9f, 1e-9f, 1e-9f, 1e-9f};
  CENTAVO_CHAINS(V, V{}, c + one * small, CENTAVO_REGISTER)
}

struct Chains {
  void (*run)();
  double flops;  // of one chain's step
};

Chains chains(cpu::Compute compute, cpu::CpuLevel level) {
#if defined(__x86_64__)
  using cpu::CpuLevel;
  if (level == CpuLevel::kAvx512Bf16 && compute == cpu::Compute::kBF16) {
    return {chains_avx512_bf16, 64};
  }
  if (level >= CpuLevel::kAvx512) return {chains_avx512, 32};
  if (level == CpuLevel::kAvx2) return {chains_avx2, 16};
#endif
  return {chains_baseline, 8};
}

}  // namespace

double peak_gflops(cpu::Compute compute, int threads, cpu::CpuLevel level) {
  const auto [run, flops] = chains(compute, level);
  double best = 0;
  for (int repeat = 0; repeat < 8; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
#pragma omp parallel num_threads(threads)
    run();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::max(best, flops * kChains * kRounds * threads / took.count() * 1e-9);
  }
  return best;
}

}  // namespace centavo::bench
