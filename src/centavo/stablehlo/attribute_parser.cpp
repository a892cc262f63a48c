// Types and attributes.
#include "centavo/stablehlo/attribute_parser.h"

#include <array>
#include <charconv>

#include "centavo/stablehlo/types.h"

namespace centavo::stablehlo {
namespace {

constexpr int kMaxDepth = 64;
constexpr int64_t kMaxExtent = int64_t{1} << 31;
constexpr size_t kMaxRank = 64;
constexpr int64_t kMaxElements = int64_t{1} << 40;

// 2x3xf32 behind "tensor<"; nothing when Centavo lacks the type. Stops anywhere then.
std::optional<TensorType> tensor_content(Scanner& scan) {
  std::vector<int64_t> dims;
  int64_t elements = 1;
  for (;;) {
    const size_t at = scan.position();
    const char c = at < scan.source().text.size() ? scan.source().text[at] : '\0';
    if (c < '0' || c > '9') break;
    const int64_t extent = scan.integer();
    if (extent > kMaxExtent) scan.source().fail(at, "a dimension of more than 2^31");
    if ((elements *= std::max<int64_t>(extent, 1)) > kMaxElements)
      scan.source().fail(at, "a tensor of more than 2^40 elements");
    dims.push_back(extent);
    if (dims.size() > kMaxRank) scan.source().fail(at, "a tensor of rank above {}", kMaxRank);
    // The x belongs to what comes next in every other kind of token.
    if (!scan.source().text.substr(scan.position()).starts_with('x')) return std::nullopt;
    scan.move_to(scan.position() + 1);
  }
  const std::optional<DType> dtype = element_from_name(scan.accept_word());
  if (!dtype || !scan.next_is('>')) return std::nullopt;
  return TensorType{*dtype, Shape(dims)};
}

// A type's name may be followed by <...>.
void skip_type(Scanner& scan) {
  if (scan.next_is('(')) {
    scan.balanced();
    scan.expect("->");
    if (scan.next_is('(')) {
      scan.balanced();
      return;
    }
    return skip_type(scan);
  }
  if (scan.accept("!")) {
    scan.suffix("a type's name");
  } else {
    scan.word("a type");
  }
  if (scan.next_is('<')) scan.balanced();
}

bool is_type_word(std::string_view word) {
  if (word == "tensor" || word == "tuple" || word == "complex" || word == "memref" ||
      word == "vector" || word == "index" || word == "none" || word == "bf16")
    return true;
  const size_t digits = word.find_first_of("0123456789");
  const std::string_view letters = word.substr(0, digits);
  return digits != word.npos &&
         (letters == "i" || letters == "ui" || letters == "si" || letters == "f");
}

Attribute numeric(Scanner& scan) {
  Attribute value = parse_number(scan);
  if (scan.accept(":")) skip_type(scan);
  return value;
}

// array<i64: 1, 2>, behind "array"
Attribute integer_array(Scanner& scan) {
  const size_t at = scan.position();
  std::vector<int64_t> values;
  scan.expect("<");
  const std::string_view element = scan.word("an element type");
  if (element.starts_with('f')) scan.source().unsupported(at, "array<{}>", element);
  if (scan.accept(":") && !scan.next_is('>')) {
    do {
      values.push_back(scan.accept("true") ? 1 : scan.accept("false") ? 0 : scan.integer());
    } while (scan.accept(","));
  }
  scan.expect(">");
  return {values, at};
}

// dense<content> : type, behind "dense"
Attribute dense(Scanner& scan) {
  const size_t at = scan.position();
  if (!scan.next_is('<')) scan.fail("expected '<' after dense");
  DenseText text;
  text.content = scan.balanced();
  text.content.remove_prefix(1);
  text.content.remove_suffix(1);
  text.content_at = at + 1;
  scan.expect(":");
  text.type = parse_type(scan);
  return {text, at};
}

// name = attribute, ... up to `close`, which is consumed.
void entries(Scanner& scan, Dictionary& into, std::string_view close, int depth) {
  while (!scan.accept(close)) {
    const size_t at = scan.position();
    const std::string name =
        scan.next_is('"') ? scan.string() : std::string(scan.word("an attribute's name"));
    Attribute value{UnitAttribute(), at};
    if (scan.accept("=")) value = parse_attribute(scan, depth + 1);
    if (!into.emplace(name, std::move(value)).second)
      scan.source().fail(at, "attribute '{}' is given twice", name);
    if (!scan.accept(",") && !scan.looking_at(close)) scan.expect(close);
  }
}

// raw input_batch_dimension = 0, ...; or the short form. Behind "conv<".
Dictionary convolution_attribute(Scanner& scan, int depth) {
  Dictionary layout;
  if (scan.accept("raw")) {
    entries(scan, layout, ">", depth);
  } else {
    layout = parse_convolution_layout(scan);
    scan.expect(">");
  }
  return layout;
}

// #stablehlo.dot<...>, #stablehlo<precision HIGHEST>; others are read over. Behind '#'.
Attribute dialect_attribute(Scanner& scan, int depth) {
  const size_t at = scan.position();
  const std::string_view name = scan.suffix("an attribute's name");
  if (!scan.next_is('<')) return {Keyword{name}, at};
  if (name == "stablehlo") {
    scan.expect("<");
    scan.word("an enumeration");
    const std::string_view value = scan.word("one of its values");
    scan.expect(">");
    return {Keyword{value}, at};
  }
  constexpr std::array kDictionaries = {"stablehlo.dot", "stablehlo.gather", "stablehlo.scatter",
                                        "stablehlo.channel_handle", "stablehlo.channel"};
  if (name == "stablehlo.conv") {
    scan.expect("<");
    return {convolution_attribute(scan, depth), at};
  }
  for (std::string_view known : kDictionaries) {
    if (name != known) continue;
    Dictionary values;
    scan.expect("<");
    entries(scan, values, ">", depth);
    return {values, at};
  }
  return {Keyword{scan.balanced()}, at};
}

// A list of integers becomes one value, other lists stay lists.
Attribute attribute_list(Scanner& scan, int depth) {
  const size_t at = scan.position();
  AttributeList values;
  scan.expect("[");
  while (!scan.accept("]")) {
    values.push_back(parse_attribute(scan, depth + 1));
    if (!scan.accept(",") && !scan.next_is(']')) scan.expect("]");
  }
  std::vector<int64_t> integers;
  for (const Attribute& value : values) {
    if (const auto* whole = std::get_if<int64_t>(&value.value)) integers.push_back(*whole);
  }
  if (integers.size() == values.size()) return {integers, at};
  return {values, at};
}

}  // namespace

Type parse_type(Scanner& scan) {
  Type type;
  type.at = scan.position();
  if (scan.looking_at("tensor")) {
    Scanner ahead = scan;
    ahead.expect("tensor");
    ahead.expect("<");
    type.tensor = tensor_content(ahead);
  }
  skip_type(scan);
  type.text = scan.source().text.substr(type.at, scan.offset() - type.at);
  return type;
}

std::vector<Type> parse_types(Scanner& scan) {
  std::vector<Type> types;
  if (!scan.accept("(")) return {parse_type(scan)};
  while (!scan.accept(")")) {
    types.push_back(parse_type(scan));
    if (!scan.accept(",") && !scan.next_is(')')) scan.expect(")");
  }
  return types;
}

std::vector<int64_t> parse_integers(Scanner& scan) {
  std::vector<int64_t> values;
  scan.expect("[");
  while (!scan.accept("]")) {
    values.push_back(scan.integer());
    if (!scan.accept(",") && !scan.next_is(']')) scan.expect("]");
  }
  return values;
}

Dictionary parse_convolution_layout(Scanner& scan) {
  const size_t at = scan.position();
  Dictionary layout;
  // One list: two letters for the dimensions with a meaning, numbers for the spatial ones.
  auto part = [&](const std::string& prefix,
                  std::array<std::pair<const char*, const char*>, 2> named) {
    std::map<int64_t, int64_t> spatial;
    scan.expect("[");
    for (int64_t d = 0; !scan.accept("]"); ++d) {
      if (scan.accept(named[0].first)) {
        layout.insert_or_assign(prefix + named[0].second, Attribute{d, at});
      } else if (scan.accept(named[1].first)) {
        layout.insert_or_assign(prefix + named[1].second, Attribute{d, at});
      } else {
        spatial[scan.integer()] = d;
      }
      if (!scan.accept(",") && !scan.next_is(']')) scan.expect("]");
    }
    std::vector<int64_t> places;
    for (auto [dimension, place] : spatial) {
      if (dimension != static_cast<int64_t>(places.size()))
        scan.source().fail(at, "spatial dimension {} is missing", places.size());
      places.push_back(place);
    }
    layout.insert_or_assign(prefix + "spatial_dimensions", Attribute{places, at});
  };
  part("input_", {{{"b", "batch_dimension"}, {"f", "feature_dimension"}}});
  scan.expect("x[");
  scan.move_to(scan.position() - 1);
  part("kernel_", {{{"i", "input_feature_dimension"}, {"o", "output_feature_dimension"}}});
  scan.expect("->");
  part("output_", {{{"b", "batch_dimension"}, {"f", "feature_dimension"}}});
  return layout;
}

Attribute parse_number(Scanner& scan) {
  const size_t at = scan.position();
  const std::string_view text = scan.number();
  const char* end = text.data() + text.size();
  if (text.find_first_of(".eE") == text.npos || text.find('x') != text.npos) {
    int64_t whole = 0;
    const bool hexadecimal = text.starts_with("0x");
    auto [stop, error] =
        std::from_chars(text.data() + (hexadecimal ? 2 : 0), end, whole, hexadecimal ? 16 : 10);
    if (error == std::errc() && stop == end) return {whole, at};
  }
  double real = 0;
  auto [stop, error] = std::from_chars(text.data(), end, real);
  if (error != std::errc() || stop != end) scan.source().fail(at, "'{}' is out of range", text);
  return {real, at};
}

void parse_dictionary(Scanner& scan, Dictionary& into, int depth) {
  scan.expect("{");
  entries(scan, into, "}", depth);
}

Attribute parse_attribute(Scanner& scan, int depth) {
  const size_t at = scan.position();
  if (depth > kMaxDepth) scan.fail("attributes nested more than {} deep", kMaxDepth);
  if (scan.next_is('"')) {
    Attribute text{scan.string(), at};
    if (scan.accept(":")) skip_type(scan);
    return text;
  }
  if (scan.next_is('[')) return attribute_list(scan, depth);
  if (scan.next_is('{')) {
    Dictionary values;
    parse_dictionary(scan, values, depth);
    return {values, at};
  }
  if (scan.accept("#")) return dialect_attribute(scan, depth);
  if (scan.accept("@")) {
    const std::string_view symbol =
        scan.next_is('"') ? scan.raw_string() : scan.suffix("a symbol's name");
    if (scan.accept("::")) scan.source().unsupported(at, "nested symbols");
    return {Keyword{symbol}, at};
  }
  if (scan.next_is('!') || scan.next_is('(')) {
    skip_type(scan);
    return {UnitAttribute(), at};
  }
  if (scan.accept("dense")) return dense(scan);
  if (scan.accept("array")) return integer_array(scan);
  if (scan.accept("true")) return {true, at};
  if (scan.accept("false")) return {false, at};
  if (scan.accept("unit")) return {UnitAttribute(), at};
  const std::string_view word = Scanner(scan).accept_word();
  if (word.empty()) return numeric(scan);
  if (!is_type_word(word)) scan.source().unsupported(at, "attribute '{}'", word);
  skip_type(scan);
  return {Keyword{word}, at};
}

void skip_location(Scanner& scan) {
  if (!scan.looking_at("loc")) return;
  scan.accept("loc");
  if (!scan.next_is('(')) scan.fail("expected '(' after loc");
  scan.balanced();
}

}  // namespace centavo::stablehlo
