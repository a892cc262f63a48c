// Conversions between Array and typed bytes.
#include "centavo/ir/array.h"

#include <cstring>
#include <limits>

namespace centavo {

Array::Array(TensorType t) : type(std::move(t)) {
  auto n = static_cast<size_t>(type.shape.elements());
  if (floating()) {
    reals.assign(n, 0.0);
  } else {
    wholes.assign(n, 0);
  }
}

double Array::number(int64_t i) const {
  return floating() ? reals[static_cast<size_t>(i)]
                    : static_cast<double>(wholes[static_cast<size_t>(i)]);
}

void Array::set(int64_t i, double value) {
  if (floating()) {
    reals[static_cast<size_t>(i)] = value;
  } else {
    wholes[static_cast<size_t>(i)] = wrap(type.dtype, static_cast<int64_t>(value));
  }
}

Array Array::from_bytes(const TensorType& type, const void* bytes) {
  Array array(type);
  visit_dtype(type.dtype, [&](auto element) {
    using T = decltype(element);
    const auto* source = static_cast<const std::byte*>(bytes);
    for (int64_t i = 0; i < array.size(); ++i) {
      std::memcpy(&element, source + static_cast<size_t>(i) * sizeof(T), sizeof(T));
      if (array.floating()) {
        array.reals[static_cast<size_t>(i)] = static_cast<double>(element);
      } else {
        array.wholes[static_cast<size_t>(i)] = static_cast<int64_t>(element);
      }
    }
  });
  return array;
}

void Array::to_bytes(void* bytes) const {
  visit_dtype(type.dtype, [&](auto element) {
    using T = decltype(element);
    auto* target = static_cast<std::byte*>(bytes);
    for (int64_t i = 0; i < size(); ++i) {
      element = floating() ? static_cast<T>(reals[static_cast<size_t>(i)])
                           : static_cast<T>(wholes[static_cast<size_t>(i)]);
      std::memcpy(target + static_cast<size_t>(i) * sizeof(T), &element, sizeof(T));
    }
  });
}

int64_t wrap(DType dtype, int64_t x) {
  switch (dtype) {
    case DType::kBool:
      return x != 0;
    case DType::kU8:
      return static_cast<uint8_t>(x);
    case DType::kI8:
      return static_cast<int8_t>(x);
    case DType::kI32:
      return static_cast<int32_t>(x);
    case DType::kU32:
      return static_cast<uint32_t>(x);
    default:
      return x;
  }
}

int64_t offset_of(const Shape& shape, const std::vector<int64_t>& index) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset = offset * shape.dims()[d] + index[d];
  return offset;
}

}  // namespace centavo
