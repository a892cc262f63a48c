// Training precisions as the cost model sees them: the format of matrix products and the bytes of
// everything stored.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "centavo/fleet/catalogue.h"

namespace centavo::fleet {

struct Precision {
  std::string name;
  NumberFormat matmul = NumberFormat::kFp32;
  int activation = 4;  // bytes of a matrix product's operands and results
  int stream = 4;      // bytes of normalised values and the residual stream
  int weight = 4;      // bytes of a weight as a matrix product reads it
  int state = 4;       // bytes of a stored parameter and of each optimizer state
  int gradient = 4;    // bytes of a gradient as the all-reduce sends it
  bool casts = false;  // converts between activation and stream formats around matrix products
};

// fp32, tf32, amp-fp16, bf16-mixed, bf16, bf16+sr (stochastic rounding), matmul-bf16 (fp32 storage,
// products cast by the compiler), fp8 (bf16 storage). Throws Error with the nearest name.
const Precision& precision_from_name(std::string_view name);
std::span<const Precision> precisions();

}  // namespace centavo::fleet
