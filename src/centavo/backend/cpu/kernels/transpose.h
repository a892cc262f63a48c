// Transposes of matrices by vectors, for elements of 1, 2, 4 and 8 bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "centavo/backend/cpu/cpu_level.h"

namespace centavo::cpu {

// target[c * target_stride + r] = source[r * source_stride + c] for r < rows and c < cols; strides
// count elements. The two do not overlap; any alignment will do.
using TransposeBlock = void (*)(const std::byte* source, int64_t source_stride, std::byte* target,
                                int64_t target_stride, int64_t rows, int64_t cols);

TransposeBlock find_transpose(int64_t element_bytes, CpuLevel level);

}  // namespace centavo::cpu
