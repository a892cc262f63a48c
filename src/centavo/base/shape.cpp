// Shape arithmetic and printing.
#include "centavo/base/shape.h"

#include <fmt/ranges.h>

namespace centavo {

int64_t Shape::operator[](int i) const {
  int at = i < 0 ? i + rank() : i;
  CENTAVO_CHECK(at >= 0 && at < rank(), "dimension {} of {}", i, to_string(*this));
  return dims_[static_cast<size_t>(at)];
}

int64_t Shape::elements() const {
  int64_t n = 1;
  for (int64_t d : dims_) n *= d;
  return n;
}

std::vector<int64_t> Shape::strides() const {
  std::vector<int64_t> s(dims_.size(), 1);
  for (size_t i = dims_.size(); i-- > 1;) s[i - 1] = s[i] * dims_[i];
  return s;
}

std::string to_string(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape.dims(), ","));
}

std::string to_string(const TensorType& type) {
  return fmt::format("{}{}", name_of(type.dtype), to_string(type.shape));
}

}  // namespace centavo
