// Most ops are one list of operands, keywords and `name = value`, then types. Calls, convolutions,
// reductions and loops have forms of their own.
#include "centavo/stablehlo/pretty_parser.h"

#include <algorithm>
#include <array>

#include "centavo/stablehlo/attribute_parser.h"
#include "centavo/stablehlo/operation_parser.h"

namespace centavo::stablehlo {
namespace {

// What `key = ` sets, by op; other keys are attributes' own names.
struct KeyName {
  std::string_view op, key, attribute;
};
constexpr KeyName kKeys[] = {
    {"stablehlo.broadcast", "sizes", "broadcast_sizes"},
    {"stablehlo.broadcast_in_dim", "dims", "broadcast_dimensions"},
    {"stablehlo.concatenate", "dim", "dimension"},
    {"stablehlo.dynamic_slice", "sizes", "slice_sizes"},
    {"stablehlo.get_dimension_size", "dim", "dimension"},
    {"stablehlo.iota", "dim", "iota_dimension"},
    {"stablehlo.pad", "high", "edge_padding_high"},
    {"stablehlo.pad", "interior", "interior_padding"},
    {"stablehlo.pad", "low", "edge_padding_low"},
    {"stablehlo.reverse", "dims", "dimensions"},
    {"stablehlo.rng", "distribution", "rng_distribution"},
    {"stablehlo.rng_bit_generator", "algorithm", "rng_algorithm"},
    {"stablehlo.transpose", "dims", "permutation"},
};

std::string attribute_of(std::string_view op, std::string_view key) {
  for (const KeyName& k : kKeys) {
    if (k.op == op && k.key == key) return std::string(k.attribute);
  }
  return std::string(key);
}

void set(Operation& op, const std::string& name, Attribute value) {
  op.attributes.insert_or_assign(name, std::move(value));
}

void parse_operand_list(Scanner& scan, Operation& op) {
  scan.expect("(");
  while (!scan.accept(")")) {
    op.operands.push_back(parse_value(scan));
    if (!scan.accept(",") && !scan.next_is(')')) scan.expect(")");
  }
}

std::vector<Type> parse_type_list(Scanner& scan) {
  std::vector<Type> types;
  do {
    types.push_back(parse_type(scan));
  } while (scan.accept(","));
  return types;
}

// Does the list of types stand for the results, one each? The barrier has as many as it likes.
bool lists_results(std::string_view op) {
  return op == "stablehlo.optimization_barrier" || op == "stablehlo.while";
}
bool has_no_results(std::string_view op) {
  return op == "return" || op == "func.return" || op == "stablehlo.return" ||
         op.starts_with("check.");
}

// : (types) -> types; or types -> types; or one type for all; of select, the condition's before it.
void parse_type_signature(Scanner& scan, Operation& op) {
  if (scan.next_is('(')) {
    op.operand_types = parse_types(scan);
    scan.expect("->");
    op.result_types = parse_types(scan);
    return;
  }
  std::vector<Type> types = parse_type_list(scan);
  if (scan.accept("->")) {
    op.operand_types = std::move(types);
    op.result_types = parse_types(scan);
  } else if (lists_results(op.name)) {
    op.result_types = std::move(types);
  } else if (!has_no_results(op.name)) {
    op.result_types = {types.back()};
  }
}

void parse_optional_dictionary(Scanner& scan, Operation& op) {
  if (scan.next_is('{')) parse_dictionary(scan, op.attributes);
}

void parse_attributes_and_types(Scanner& scan, Operation& op) {
  parse_optional_dictionary(scan, op);
  if (scan.accept(":")) parse_type_signature(scan, op);
}

// [0:4:2, 1:3] behind slice's operand
void parse_slice_ranges(Scanner& scan, Operation& op) {
  const size_t at = scan.position();
  std::vector<int64_t> start, limit, strides;
  scan.expect("[");
  while (!scan.accept("]")) {
    start.push_back(scan.integer());
    scan.expect(":");
    limit.push_back(scan.integer());
    strides.push_back(scan.accept(":") ? scan.integer() : 1);
    if (!scan.accept(",") && !scan.next_is(']')) scan.expect("]");
  }
  set(op, "start_indices", {start, at});
  set(op, "limit_indices", {limit, at});
  set(op, "strides", {strides, at});
}

// [2] x [1] of dot_general; dot's dimensions are fixed.
void parse_dimension_pairs(Scanner& scan, Operation& op, const std::string& kind) {
  const size_t at = scan.position();
  auto entry =
      op.attributes.try_emplace("dot_dimension_numbers", Attribute{Dictionary(), at}).first;
  auto& dims = std::get<Dictionary>(entry->second.value);
  dims.insert_or_assign("lhs_" + kind, Attribute{parse_integers(scan), at});
  scan.expect("x");
  dims.insert_or_assign("rhs_" + kind, Attribute{parse_integers(scan), at});
}

// The value behind `key =`.
void parse_keyed(Scanner& scan, Operation& op, std::string_view key) {
  if (key == "contracting_dims") return parse_dimension_pairs(scan, op, "contracting_dimensions");
  if (key == "batching_dims") return parse_dimension_pairs(scan, op, "batching_dimensions");
  const size_t at = scan.position();
  const std::string name = attribute_of(op.name, key);
  if (key == "precision" || (key == "algorithm" && scan.next_is('<'))) {
    if (scan.next_is('[') || scan.next_is('<')) {
      scan.balanced();
    } else {
      scan.word("a precision");
    }
  } else if (scan.next_is_number()) {
    // A colon behind it starts the operation's types.
    set(op, name, parse_number(scan));
  } else if (const std::string_view word = Scanner(scan).accept_word();
             !word.empty() && word != "true" && word != "false" && word != "dense" &&
             word != "array") {
    scan.accept_word();
    set(op, name, {Keyword{word}, at});
  } else {
    set(op, name, parse_attribute(scan));
  }
}

// compare LT, %a, %b, FLOAT
void parse_comparison_word(Scanner& scan, Operation& op, std::string_view word, size_t at) {
  if (op.name != "stablehlo.compare") scan.source().fail(at, "unexpected '{}'", word);
  const bool type = op.attributes.contains("comparison_direction");
  set(op, type ? "compare_type" : "comparison_direction", {Keyword{word}, at});
}

// One of the parts between commas.
void parse_item(Scanner& scan, Operation& op) {
  const size_t at = scan.position();
  if (scan.next_is('%')) {
    op.operands.push_back(parse_value(scan));
    if (op.name == "stablehlo.slice" && scan.next_is('[')) parse_slice_ranges(scan, op);
  } else if (scan.looking_at("dense") || scan.looking_at("dense_resource")) {
    Attribute value = parse_attribute(scan);
    if (const auto* dense = std::get_if<DenseText>(&value.value);
        dense && op.name == "stablehlo.constant")
      op.result_types = {dense->type};
    set(op, "value", std::move(value));
  } else if (scan.next_is('"')) {
    set(op, "name", parse_attribute(scan));
    if (scan.next_is('%')) parse_item(scan, op);  // a composite's name has no comma behind it
  } else if (scan.next_is('@')) {
    set(op, "call_target_name", parse_attribute(scan));
    parse_operand_list(scan, op);
  } else {
    const std::string_view word = scan.word("an operand");
    if (scan.accept("=")) {
      parse_keyed(scan, op, word);
    } else {
      parse_comparison_word(scan, op, word, at);
    }
  }
}

void parse_items(Scanner& scan, Operation& op) {
  auto more = [&] {
    return scan.next_is('%') || scan.next_is('@') || scan.next_is('"') ||
           !Scanner(scan).accept_word().empty();
  };
  // A bare return is followed by what closes its region; a value's name there starts another line.
  if (has_no_results(op.name) ? scan.next_is('%') : more()) {
    do {
      parse_item(scan, op);
    } while (scan.accept(","));
  }
  parse_attributes_and_types(scan, op);
}

// @name(%a, %b) {attributes} : types, of calls
void parse_call(Scanner& scan, Operation& op) {
  if (!scan.next_is('@')) scan.fail("expected a function's name");
  set(op, "callee", parse_attribute(scan));
  parse_operand_list(scan, op);
  parse_attributes_and_types(scan, op);
}

// window = {stride = [1, 1], pad = [[0, 0], [0, 0]], ...} behind '='
void parse_window(Scanner& scan, Operation& op) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"stride", "window_strides"},
      {"pad", "padding"},
      {"lhs_dilate", "lhs_dilation"},
      {"rhs_dilate", "rhs_dilation"},
      {"reverse", "window_reversal"}};
  Dictionary window;
  parse_dictionary(scan, window);
  for (auto& [key, value] : window) {
    auto name = std::find_if(std::begin(kNames), std::end(kNames),
                             [&](const auto& pair) { return pair.first == key; });
    if (name == std::end(kNames)) scan.source().fail(value.at, "a window has no '{}'", key);
    set(op, std::string(name->second), std::move(value));
  }
}

// (%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {...} {...} : types
void parse_convolution(Scanner& scan, Operation& op) {
  parse_operand_list(scan, op);
  do {
    const size_t at = scan.position();
    const std::string_view key = scan.word("dim_numbers");
    scan.expect("=");
    if (key == "dim_numbers") {
      set(op, "dimension_numbers", {parse_convolution_layout(scan), at});
    } else if (key == "window") {
      parse_window(scan, op);
    } else {
      parse_keyed(scan, op, key);
    }
  } while (scan.accept(","));
  parse_attributes_and_types(scan, op);
}

// The region of `applies name`: arguments a and b of the element type, name(a, b), return.
Region region_of(std::string_view name, const Type& element, size_t at) {
  Region region;
  region.arguments = {{"a", element, {}}, {"b", element, {}}};
  region.body.resize(2);
  Operation &apply = region.body[0], &end = region.body[1];
  apply.name = name;
  apply.results = {{"r"}};
  apply.operands = {{"a", 0, at}, {"b", 0, at}};
  apply.result_types = {element};
  end.name = "stablehlo.return";
  end.operands = {{"r", 0, at}};
  apply.at = end.at = at;
  return region;
}

// reducer(%a: t, %b: t) (%c: t, %d: t) { ... }: one pair a result. The region takes all the first
// ones, then all the second ones.
Region parse_reducer(Scanner& scan, int depth) {
  std::vector<Argument> first, second;
  scan.expect("reducer");
  do {
    const size_t at = scan.position();
    std::vector<Argument> pair = parse_arguments(scan);
    if (pair.size() != 2) scan.source().fail(at, "expected two arguments");
    first.push_back(std::move(pair[0]));
    second.push_back(std::move(pair[1]));
  } while (scan.next_is('('));
  Region region = parse_region(scan, depth + 1);
  std::move(second.begin(), second.end(), std::back_inserter(first));
  region.arguments = std::move(first);
  return region;
}

// (%x init: %i) applies stablehlo.add across dimensions = [1] : types; or, of several values,
// (%x init: %i), (%y init: %j) across dimensions = [1] : types reducer(...) ... { ... }
void parse_reduce(Scanner& scan, Operation& op, int depth) {
  std::vector<ValueName> inits;
  do {
    scan.expect("(");
    op.operands.push_back(parse_value(scan));
    scan.expect("init");
    scan.expect(":");
    inits.push_back(parse_value(scan));
    scan.expect(")");
  } while (scan.accept(","));
  op.operands.insert(op.operands.end(), inits.begin(), inits.end());
  const bool applies = scan.accept("applies");
  const std::string_view name = applies ? scan.word("an operation's name") : "";
  scan.expect("across");
  scan.expect("dimensions");
  scan.expect("=");
  const size_t at = scan.position();
  set(op, "dimensions", {parse_integers(scan), at});
  parse_attributes_and_types(scan, op);
  if (!applies) {
    op.regions.push_back(parse_reducer(scan, depth));
    return;
  }
  if (op.operand_types.size() != op.operands.size())
    scan.source().fail(op.at, "expected the types of {} operands", op.operands.size());
  op.regions.push_back(region_of(name, op.operand_types.back(), op.at));
}

// (%a = %x, %b = %y) : types cond { ... } do { ... }: both regions take the variables.
void parse_while(Scanner& scan, Operation& op, int depth) {
  std::vector<Argument> variables;
  scan.expect("(");
  while (!scan.accept(")")) {
    scan.expect("%");
    variables.push_back({scan.suffix("a variable's name"), {}, {}});
    scan.expect("=");
    op.operands.push_back(parse_value(scan));
    if (!scan.accept(",") && !scan.next_is(')')) scan.expect(")");
  }
  if (scan.accept(":")) parse_type_signature(scan, op);
  if (scan.accept("attributes")) parse_dictionary(scan, op.attributes);
  if (op.result_types.size() != variables.size())
    scan.source().fail(op.at, "{} variables have {} types", variables.size(),
                       op.result_types.size());
  for (size_t i = 0; i < variables.size(); ++i) variables[i].type = op.result_types[i];
  for (const char* part : {"cond", "do"}) {
    scan.expect(part);
    op.regions.push_back(parse_region(scan, depth + 1));
    op.regions.back().arguments = variables;
  }
}

}  // namespace

void parse_pretty(Scanner& scan, Operation& op, int depth) {
  op.name = scan.word("an operation");
  if (op.name == "call") op.name = "func.call";
  if (op.name == "func.call") return parse_call(scan, op);
  if (op.name == "stablehlo.convolution") return parse_convolution(scan, op);
  if (op.name == "stablehlo.reduce") return parse_reduce(scan, op, depth);
  if (op.name == "stablehlo.while") return parse_while(scan, op, depth);
  if (!has_no_results(op.name) && !op.name.starts_with("stablehlo.") &&
      !op.name.starts_with("chlo."))
    scan.source().unsupported(op.at, "{}", op.name);
  parse_items(scan, op);
}

}  // namespace centavo::stablehlo
