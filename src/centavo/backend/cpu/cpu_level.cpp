// Run-time detection through the compiler's cpuid support, which also asks the operating system
// (XCR0).
#include "centavo/backend/cpu/cpu_level.h"

#include <array>
#include <cstdlib>
#include <string>

#include "centavo/base/error.h"
#include "centavo/base/text.h"

namespace centavo::cpu {
namespace {

constexpr const char* kVariable = "CENTAVO_CPU_LEVEL";
constexpr std::array<std::string_view, 4> kNames = {"baseline", "avx2", "avx512", "avx512_bf16"};

CpuLevel detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return CpuLevel::kBaseline;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl")) {
    return CpuLevel::kAvx2;
  }
  return __builtin_cpu_supports("avx512bf16") ? CpuLevel::kAvx512Bf16 : CpuLevel::kAvx512;
#else
  return CpuLevel::kBaseline;
#endif
}

}  // namespace

std::string_view name_of(CpuLevel level) {
  return kNames[static_cast<size_t>(level)];
}

CpuLevel supported_cpu_level() {
  static const CpuLevel level = detect();
  return level;
}

CpuLevel parse_cpu_level(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] != name) continue;
    const auto level = static_cast<CpuLevel>(i);
    if (level > supported_cpu_level()) {
      throw Error(kVariable, "this processor lacks {}; its highest level is {}", name,
                  name_of(supported_cpu_level()));
    }
    return level;
  }
  const std::array<std::string, 4> known = {"baseline", "avx2", "avx512", "avx512_bf16"};
  throw Error(kVariable, "unknown level '{}'{}; the levels are baseline, avx2, avx512, avx512_bf16",
              name, did_you_mean(name, known));
}

CpuLevel cpu_level() {
  static const CpuLevel level = [] {
    const char* name = std::getenv(kVariable);
    return name && *name ? parse_cpu_level(name) : supported_cpu_level();
  }();
  return level;
}

}  // namespace centavo::cpu
