// Which vector instructions the CPU kernels may use: found at run time, lowered by
// CENTAVO_CPU_LEVEL.
#pragma once

#include <cstdint>
#include <string_view>

namespace centavo::cpu {

// Ordered: each level has everything below it. kBaseline is what the compiler may assume anyway:
// SSE2 on x86-64, NEON on AArch64.
enum class CpuLevel : uint8_t { kBaseline, kAvx2, kAvx512, kAvx512Bf16 };

// "baseline", "avx2", "avx512", "avx512_bf16".
std::string_view name_of(CpuLevel level);

// The highest level this processor and operating system support.
CpuLevel supported_cpu_level();

// The level in force: supported_cpu_level(), or the lower one that the environment variable
// CENTAVO_CPU_LEVEL names. Read once. Throws Error on an unknown or unsupported name.
CpuLevel cpu_level();

// What cpu_level() makes of the variable's value; for tests and messages.
CpuLevel parse_cpu_level(std::string_view name);

}  // namespace centavo::cpu
