// What the processor can do at all: the denominator of every "percent of peak".
#pragma once

#include "centavo/backend/cpu/cpu_level.h"
#include "centavo/backend/cpu/kernels/micro.h"

namespace centavo::bench {

// The best GFLOP/s of multiply-adds on registers alone, on `threads` threads at once, measured now;
// with the widest instructions that `compute` has at `level`.
double peak_gflops(cpu::Compute compute, int threads, cpu::CpuLevel level = cpu::cpu_level());

}  // namespace centavo::bench
