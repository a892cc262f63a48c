// The tables that the micro_<level>.cpp make; micro.cpp chooses among them.
#pragma once

#include "centavo/backend/cpu/kernels/micro.h"

namespace centavo::cpu {

// Products in fp32 instructions; with `rounds`, of operands rounded to bf16.
Micro make_micro_baseline(bool rounds);
#if defined(__x86_64__)
Micro make_micro_avx2(bool rounds);
Micro make_micro_avx512(bool rounds);
Micro make_micro_avx512_bf16();
#endif

}  // namespace centavo::cpu
