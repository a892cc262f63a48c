// The CPU backend: matrix kernels, fused loops and hand-tuned kernels over one arena.
#pragma once

#include "centavo/backend/backend.h"

namespace centavo {

Device make_cpu_backend(const DeviceOptions& options);

}  // namespace centavo
