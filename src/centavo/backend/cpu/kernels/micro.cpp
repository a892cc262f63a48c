// Chooses the micro-kernels of a level.
#include "centavo/backend/cpu/kernels/micro.h"

#include <array>

#include "centavo/backend/cpu/kernels/micro_levels.h"
#include "centavo/base/error.h"

namespace centavo::cpu {
namespace {

Micro make_micro(Compute compute, CpuLevel level) {
  const bool rounds = compute == Compute::kBF16;
#if defined(__x86_64__)
  switch (level) {
    case CpuLevel::kBaseline:
      return make_micro_baseline(rounds);
    case CpuLevel::kAvx2:
      return make_micro_avx2(rounds);
    case CpuLevel::kAvx512:
      return make_micro_avx512(rounds);
    case CpuLevel::kAvx512Bf16:
      return rounds ? make_micro_avx512_bf16() : make_micro_avx512(false);
  }
  CENTAVO_UNREACHABLE();
#else
  CENTAVO_CHECK(level == CpuLevel::kBaseline);
  return make_micro_baseline(rounds);
#endif
}

}  // namespace

const Micro& micro(Compute compute, CpuLevel level) {
  static constexpr int kLevels = static_cast<int>(CpuLevel::kAvx512Bf16) + 1;
  static const auto tables = [] {
    std::array<std::array<Micro, kLevels>, 2> made{};
    for (int l = 0; l <= static_cast<int>(supported_cpu_level()); ++l) {
      made[0][l] = make_micro(Compute::kF32, static_cast<CpuLevel>(l));
      made[1][l] = make_micro(Compute::kBF16, static_cast<CpuLevel>(l));
    }
    return made;
  }();
  CENTAVO_CHECK(level <= supported_cpu_level(), "{} on a processor without it", name_of(level));
  return tables[static_cast<size_t>(compute)][static_cast<size_t>(level)];
}

}  // namespace centavo::cpu
