// bfloat16 as a storage type: the upper half of a float. Arithmetic happens in float.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace centavo {

struct bf16 {
  uint16_t bits = 0;

  bf16() = default;
  // Rounds to nearest, ties to even; a NaN stays a (quiet) NaN.
  explicit bf16(float x) {
    uint32_t u = std::bit_cast<uint32_t>(x);
    if ((u & 0x7fffffffu) > 0x7f800000u) {
      bits = static_cast<uint16_t>((u >> 16) | 0x40u);
    } else {
      bits = static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
    }
  }
  template <class T>
  requires std::is_arithmetic_v<T>
  explicit bf16(T x) : bf16(static_cast<float>(x)) {}
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

  static bf16 from_bits(uint16_t b) {
    bf16 r;
    r.bits = b;
    return r;
  }
};
static_assert(sizeof(bf16) == 2);

}  // namespace centavo
