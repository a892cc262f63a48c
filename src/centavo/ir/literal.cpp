// Conversions between a literal's bytes and numbers.
#include "centavo/ir/literal.h"

namespace centavo {

Literal Literal::splat(const TensorType& type, double value) {
  Literal literal;
  literal.type_ = type;
  literal.splat_ = true;
  literal.data_.resize(static_cast<size_t>(size_of(type.dtype)));
  visit_dtype(type.dtype, [&](auto element) {
    element = static_cast<decltype(element)>(value);
    std::memcpy(literal.data_.data(), &element, sizeof element);
  });
  return literal;
}

Literal Literal::splat(const TensorType& type, std::vector<std::byte> element) {
  CENTAVO_CHECK(static_cast<int64_t>(element.size()) == size_of(type.dtype));
  Literal literal;
  literal.type_ = type;
  literal.splat_ = true;
  literal.data_ = std::move(element);
  return literal;
}

Literal::Literal(TensorType type, std::vector<std::byte> data)
    : type_(std::move(type)), data_(std::move(data)) {
  CENTAVO_CHECK(static_cast<int64_t>(data_.size()) == type_.bytes());
}

double Literal::value(int64_t i) const {
  return visit_dtype(type_.dtype, [&](auto element) {
    size_t at = splat_ ? 0 : static_cast<size_t>(i) * sizeof element;
    std::memcpy(&element, data_.data() + at, sizeof element);
    return static_cast<double>(element);
  });
}

}  // namespace centavo
