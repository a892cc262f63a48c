// Numbers, nested lists and hexadecimal strings.
#include "centavo/stablehlo/dense.h"

#include <bit>
#include <charconv>
#include <cstdlib>
#include <limits>

namespace centavo::stablehlo {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
void append(Bytes& bytes, T value) {
  const size_t at = bytes.size();
  bytes.resize(at + sizeof(T));
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

// The whole of `text` as a number; nothing if it is none or does not fit.
template <class T>
std::optional<T> number_of(std::string_view text, auto... base) {
  T value{};
  auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

// -3, 0xFF. i8 may be written as -1 and as 255.
template <class T>
std::optional<T> whole_number(std::string_view text) {
  const bool negative = text[0] == '-';
  if (negative) text.remove_prefix(1);
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.remove_prefix(2);
  const auto magnitude = number_of<uint64_t>(text, hexadecimal ? 16 : 10);
  const uint64_t limit = !negative ? std::numeric_limits<std::make_unsigned_t<T>>::max()
                         : std::is_unsigned_v<T> ? 0
                                                 : uint64_t{1} << (8 * sizeof(T) - 1);
  if (!magnitude || *magnitude > limit) return std::nullopt;
  return static_cast<T>(negative ? 0 - *magnitude : *magnitude);
}

// 1.5e2, or the bits of the number: 0x7F800000. Beyond the range is zero or infinity, as in MLIR.
template <class T>
std::optional<T> real_number(std::string_view text) {
  if (text.starts_with("0x")) {
    using Bits = std::conditional_t<sizeof(T) == 2, uint16_t,
                                    std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
    const auto bits = number_of<Bits>(text.substr(2), 16);
    if (!bits) return std::nullopt;
    return std::bit_cast<T>(*bits);
  }
  using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
  if (const auto value = number_of<Wide>(text)) return static_cast<T>(*value);
  return static_cast<T>(std::strtod(std::string(text).c_str(), nullptr));
}

template <class T>
T parse_element(Scanner& scan) {
  const size_t at = scan.position();
  if constexpr (std::is_same_v<T, bool>) {
    if (scan.accept("true")) return true;
    if (scan.accept("false")) return false;
    const int64_t bit = scan.integer();
    if (bit < -1 || bit > 1) scan.source().fail(at, "{} is no i1", bit);
    return bit != 0;
  } else {
    const std::string_view text = scan.number();
    std::optional<T> value;
    if constexpr (std::is_integral_v<T>) {
      value = whole_number<T>(text);
    } else {
      value = real_number<T>(text);
    }
    if (!value) scan.source().fail(at, "'{}' is out of the element type's range", text);
    return *value;
  }
}

// Nested lists whose lengths must be the shape's.
template <class T>
void parse_rows(Scanner& scan, const Shape& shape, int dim, Bytes& bytes) {
  if (dim == shape.rank()) {
    append(bytes, parse_element<T>(scan));
    return;
  }
  const size_t at = scan.position();
  int64_t count = 0;
  scan.expect("[");
  while (!scan.accept("]")) {
    parse_rows<T>(scan, shape, dim + 1, bytes);
    ++count;
    if (!scan.accept(",") && !scan.next_is(']')) scan.expect("]");
  }
  if (count != shape[dim]) {
    scan.source().fail(at, "{} value(s) along dimension {} of {}", count, dim, to_string(shape));
  }
}

int nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = static_cast<char>(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

Bytes hexadecimal_bytes(Scanner& scan) {
  const size_t at = scan.position();
  std::string_view text = scan.raw_string();
  if (!text.starts_with("0x") || text.size() % 2 != 0)
    scan.source().fail(at, "expected an even number of hexadecimal digits after 0x");
  text.remove_prefix(2);
  Bytes bytes(text.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int high = nibble(text[2 * i]), low = nibble(text[2 * i + 1]);
    if (high < 0 || low < 0) scan.source().fail(at + 3 + 2 * i, "expected a hexadecimal digit");
    bytes[i] = static_cast<std::byte>(high * 16 + low);
  }
  return bytes;
}

// i1 data is a byte each, or packed eight to a byte from the lowest bit.
Bytes boolean_bytes(const Bytes& data, int64_t count) {
  Bytes bits(static_cast<size_t>(count));
  const bool packed = data.size() != bits.size();
  for (size_t i = 0; i < bits.size(); ++i) {
    const std::byte b = packed ? data[i / 8] >> (i % 8) & std::byte{1} : data[i];
    bits[i] = b == std::byte{0} ? b : std::byte{1};
  }
  return bits;
}

Literal from_hexadecimal(Scanner& scan, const TensorType& type) {
  const size_t at = scan.position();
  Bytes bytes = hexadecimal_bytes(scan);
  const auto size = static_cast<int64_t>(bytes.size());
  const int64_t elements = type.shape.elements();
  if (type.dtype == DType::kBool) {
    if (size > 0 && (size == elements || size == (elements + 7) / 8))
      return Literal(type, boolean_bytes(bytes, elements));
    if (size == 1) return Literal::splat(type, bytes[0] != std::byte{0});
  } else {
    if (size == type.bytes()) return Literal(type, std::move(bytes));
    if (size == size_of(type.dtype)) return Literal::splat(type, std::move(bytes));
  }
  scan.source().fail(at, "{} byte(s) of data for {}", size, to_string(type));
}

}  // namespace

Literal decode(const Source& source, const DenseText& dense) {
  if (!dense.type.tensor) source.unsupported(dense.type.at, "type {}", dense.type.text);
  const TensorType& type = *dense.type.tensor;
  const Source content{source.text.substr(0, dense.content_at + dense.content.size()), source.name};
  Scanner scan(content, dense.content_at);
  auto complete = [&](Literal literal) {
    if (!scan.at_end()) scan.fail("expected '>'");
    return literal;
  };
  if (scan.at_end()) {
    if (type.shape.elements() != 0) scan.fail("no values for {}", to_string(type));
    return Literal(type, {});
  }
  if (scan.next_is('"')) return complete(from_hexadecimal(scan, type));
  return visit_dtype(type.dtype, [&](auto element) {
    using T = decltype(element);
    Bytes bytes;
    if (scan.next_is('[')) {
      parse_rows<T>(scan, type.shape, 0, bytes);
      return complete(Literal(type, std::move(bytes)));
    }
    append(bytes, parse_element<T>(scan));
    return complete(Literal::splat(type, std::move(bytes)));
  });
}

std::vector<int64_t> decode_integers(const Source& source, const DenseText& dense) {
  const Literal literal = decode(source, dense);
  constexpr int64_t kMost = 1 << 20;
  if (is_floating(literal.type().dtype) || literal.type().shape.elements() > kMost)
    source.fail(dense.content_at, "expected whole numbers, got {}", to_string(literal.type()));
  std::vector<int64_t> values;
  for (int64_t i = 0; i < literal.type().shape.elements(); ++i)
    values.push_back(static_cast<int64_t>(literal.value(i)));
  return values;
}

}  // namespace centavo::stablehlo
