// Comparison of elements: equal, within a tolerance, or within a number of representable values.
#include "centavo/stablehlo/expectation.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace centavo::stablehlo {
namespace {

// Representable values between a and b, of one floating type; numbers of opposite signs count
// through zero.
template <class T>
uint64_t ulp_distance(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 2, uint16_t,
                                  std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  const Bits x = std::bit_cast<Bits>(a), y = std::bit_cast<Bits>(b);
  const auto size_x = static_cast<uint64_t>(x & ~kSign), size_y = static_cast<uint64_t>(y & ~kSign);
  if ((x & kSign) != (y & kSign)) return size_x + size_y;
  return size_x > size_y ? size_x - size_y : size_y - size_x;
}

template <class T>
bool keeps(const Expectation& e, T actual, T expected) {
  if (actual == expected) return true;
  if constexpr (!std::is_integral_v<T>) {
    const auto a = static_cast<double>(actual), b = static_cast<double>(expected);
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    if (!std::isfinite(a) || !std::isfinite(b)) return false;
    if (e.ulps > 0) return ulp_distance(actual, expected) <= static_cast<uint64_t>(e.ulps);
    return std::fabs(a - b) <= e.tolerance;
  }
  return false;
}

}  // namespace

std::optional<std::string> mismatch(const Expectation& e, const void* actual,
                                    const void* expected) {
  const TensorType& type = e.actual.type();
  return visit_dtype(type.dtype, [&](auto a) -> std::optional<std::string> {
    auto b = a;
    for (int64_t i = 0; i < type.shape.elements(); ++i) {
      const size_t at = static_cast<size_t>(i) * sizeof a;
      std::memcpy(&a, static_cast<const std::byte*>(actual) + at, sizeof a);
      std::memcpy(&b, static_cast<const std::byte*>(expected) + at, sizeof b);
      if (keeps(e, a, b)) continue;
      if constexpr (std::is_same_v<decltype(a), bf16>) {
        return fmt::format("element {} is {}, expected {}", i, float(a), float(b));
      } else {
        return fmt::format("element {} is {}, expected {}", i, a, b);
      }
    }
    return std::nullopt;
  });
}

}  // namespace centavo::stablehlo
