// What reductions start from.
#include "centavo/stablehlo/identity.h"

#include <limits>

namespace centavo::stablehlo {

Literal identity_of(const std::string& kind, DType dtype) {
  return visit_dtype(dtype, [&](auto element) {
    using T = decltype(element);
    using Limits = std::numeric_limits<std::conditional_t<std::is_same_v<T, bf16>, float, T>>;
    if (kind == "max") element = T(Limits::has_infinity ? -Limits::infinity() : Limits::lowest());
    if (kind == "min") element = T(Limits::has_infinity ? Limits::infinity() : Limits::max());
    std::vector<std::byte> bytes(sizeof element);
    std::memcpy(bytes.data(), &element, sizeof element);
    return Literal({dtype, {}}, bytes);
  });
}

}  // namespace centavo::stablehlo
