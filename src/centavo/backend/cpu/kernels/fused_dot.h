// Products whose tiles a tape takes further while they are hot.
#pragma once

#include "centavo/backend/cpu/kernel.h"
#include "centavo/backend/cpu/tape/tape.h"

namespace centavo::cpu {

// The kernel of a fusion of kind "dot".
Kernel make_fused_dot(const Node& fusion, const KernelContext& context);

}  // namespace centavo::cpu
