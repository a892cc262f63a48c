// The table of precisions.
#include "centavo/fleet/precision.h"

#include <vector>

#include "centavo/base/error.h"
#include "centavo/base/text.h"

namespace centavo::fleet {

std::span<const Precision> precisions() {
  using enum NumberFormat;
  static const std::vector<Precision> kAll = {
      // name, matmul, activation, stream, weight, state, gradient, casts
      {"fp32", kFp32, 4, 4, 4, 4, 4, false},      {"tf32", kTf32, 4, 4, 4, 4, 4, false},
      {"amp-fp16", kFp16, 2, 4, 2, 4, 4, true},  // autocast: layer norms and residuals stay fp32
      {"bf16-mixed", kBf16, 2, 4, 2, 4, 4, true}, {"bf16", kBf16, 2, 2, 2, 2, 2, false},
      {"bf16+sr", kBf16, 2, 2, 2, 2, 2, false},   {"matmul-bf16", kBf16, 4, 4, 4, 4, 4, false},
      {"fp8", kFp8, 2, 2, 2, 2, 2, false},
  };
  return kAll;
}

const Precision& precision_from_name(std::string_view name) {
  std::vector<std::string> names;
  for (const Precision& precision : precisions()) {
    if (precision.name == name) return precision;
    names.push_back(precision.name);
  }
  throw Error("fleet", "unknown precision '{}'{}", name, did_you_mean(name, names));
}

}  // namespace centavo::fleet
