// Printing of literals.
#include "centavo/stablehlo/literal_text.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

#include "centavo/stablehlo/types.h"

namespace centavo::stablehlo {
namespace {

static_assert(std::endian::native == std::endian::little, "hexadecimal data is little-endian");

std::string hexadecimal(const std::vector<std::byte>& bytes) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text = "0x";
  text.reserve(2 + 2 * bytes.size());
  for (std::byte b : bytes) {
    text += kDigits[std::to_integer<size_t>(b >> 4)];
    text += kDigits[std::to_integer<size_t>(b & std::byte{15})];
  }
  return text;
}

// The element's bits as one number, the way MLIR writes what decimals cannot: 0xFF80.
std::string bit_pattern(std::vector<std::byte> element) {
  std::reverse(element.begin(), element.end());
  return hexadecimal(element);
}

// The shortest decimal that reads back as x; MLIR wants a point in it.
std::string decimal(auto x) {
  std::string text = fmt::format("{}", x);
  size_t exponent = text.find('e');
  if (text.find('.') == text.npos) text.insert(std::min(exponent, text.size()), ".0");
  return text;
}

std::string splat_text(const Literal& literal) {
  const DType dtype = literal.type().dtype;
  if (dtype == DType::kBool) return literal.value(0) != 0 ? "true" : "false";
  return visit_dtype(dtype, [&](auto element) -> std::string {
    using T = decltype(element);
    std::memcpy(&element, literal.data().data(), sizeof element);
    if constexpr (std::is_integral_v<T>)
      return fmt::format("{}", element);
    else if (!std::isfinite(static_cast<double>(element)))
      return bit_pattern(literal.data());
    else if constexpr (std::is_same_v<T, double>)
      return decimal(element);
    else
      return decimal(static_cast<float>(element));
  });
}

// Nested rows of true and false: packed bits are the alternative, and nobody can read those.
std::string boolean_rows(const Literal& literal, int dim, int64_t& at) {
  const Shape& shape = literal.type().shape;
  if (dim == shape.rank()) return literal.value(at++) != 0 ? "true" : "false";
  std::string text = "[";
  for (int64_t i = 0; i < shape[dim]; ++i)
    text += (i ? ", " : "") + boolean_rows(literal, dim + 1, at);
  return text + "]";
}

}  // namespace

std::string literal_text(const Literal& literal) {
  const TensorType& type = literal.type();
  int64_t at = 0;
  const std::string content = type.shape.elements() == 0 ? ""
                              : literal.is_splat()       ? splat_text(literal)
                              : type.dtype == DType::kBool
                                  ? boolean_rows(literal, 0, at)
                                  : '"' + hexadecimal(literal.data()) + '"';
  return fmt::format("dense<{}> : {}", content, type_text(type));
}

}  // namespace centavo::stablehlo
