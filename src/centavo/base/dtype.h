// Element types: names, sizes and the mapping to C++ types. Names are StableHLO's (f32, bf16, i32,
// ...).
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "centavo/base/bf16.h"
#include "centavo/base/error.h"

namespace centavo {

enum class DType : uint8_t { kBool, kU8, kI8, kI32, kU32, kI64, kU64, kBF16, kF32, kF64 };

// Bytes of one element; bool takes one.
int64_t size_of(DType dtype);
// "bool", "u8", "i8", "i32", "u32", "i64", "u64", "bf16", "f32", "f64".
std::string_view name_of(DType dtype);
// The inverse of name_of; throws Error with the nearest name on anything else.
DType dtype_from_name(std::string_view name);

inline bool is_floating(DType d) {
  return d >= DType::kBF16;
}
inline bool is_integer(DType d) {
  return d != DType::kBool && d < DType::kBF16;
}

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>)
    return DType::kBool;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return DType::kU8;
  else if constexpr (std::is_same_v<T, int8_t>)
    return DType::kI8;
  else if constexpr (std::is_same_v<T, int32_t>)
    return DType::kI32;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return DType::kU32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return DType::kI64;
  else if constexpr (std::is_same_v<T, uint64_t>)
    return DType::kU64;
  else if constexpr (std::is_same_v<T, bf16>)
    return DType::kBF16;
  else if constexpr (std::is_same_v<T, float>)
    return DType::kF32;
  else {
    static_assert(std::is_same_v<T, double>, "no DType for this C++ type");
    return DType::kF64;
  }
}

// Calls f with a value-initialised element of the C++ type that stores `dtype`.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kBool:
      return f(bool{});
    case DType::kU8:
      return f(uint8_t{});
    case DType::kI8:
      return f(int8_t{});
    case DType::kI32:
      return f(int32_t{});
    case DType::kU32:
      return f(uint32_t{});
    case DType::kI64:
      return f(int64_t{});
    case DType::kU64:
      return f(uint64_t{});
    case DType::kBF16:
      return f(bf16{});
    case DType::kF32:
      return f(float{});
    case DType::kF64:
      return f(double{});
  }
  CENTAVO_UNREACHABLE();
}

}  // namespace centavo
