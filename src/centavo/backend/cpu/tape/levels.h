// The choice among the copies of a function that Highway's foreach_target has compiled.
#pragma once

#include <hwy/highway.h>

#if HWY_ARCH_X86 && (HWY_TARGETS & HWY_AVX2) && (HWY_TARGETS & HWY_AVX3)
#define CENTAVO_AT_LEVEL(level, function)                          \
  ((level) >= ::centavo::cpu::CpuLevel::kAvx512 ? N_AVX3::function \
   : (level) == ::centavo::cpu::CpuLevel::kAvx2 ? N_AVX2::function \
                                                : HWY_STATIC_DISPATCH(function))
#else
#define CENTAVO_AT_LEVEL(level, function) HWY_STATIC_DISPATCH(function)
#endif
