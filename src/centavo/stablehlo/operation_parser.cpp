// Operations and regions.
#include "centavo/stablehlo/operation_parser.h"

#include "centavo/stablehlo/attribute_parser.h"
#include "centavo/stablehlo/pretty_parser.h"

namespace centavo::stablehlo {
namespace {

constexpr int kMaxDepth = 64;

std::vector<ResultName> parse_results(Scanner& scan) {
  std::vector<ResultName> results;
  if (!scan.next_is('%')) return results;
  do {
    scan.expect("%");
    ResultName result{scan.suffix("a value's name")};
    if (scan.accept(":")) {
      result.count = scan.integer();
      if (result.count < 1 || result.count > 4096) scan.fail("a count of results below 1");
    }
    results.push_back(result);
  } while (scan.accept(","));
  scan.expect("=");
  return results;
}

// "name"(operands) <{properties}> (regions) {attributes} : (types) -> types
void parse_generic(Scanner& scan, Operation& op, int depth) {
  op.name = scan.raw_string();
  scan.expect("(");
  while (!scan.accept(")")) {
    op.operands.push_back(parse_value(scan));
    if (!scan.accept(",") && !scan.next_is(')')) scan.expect(")");
  }
  if (scan.accept("<")) {
    parse_dictionary(scan, op.attributes);
    scan.expect(">");
  }
  if (scan.accept("(")) {
    do {
      op.regions.push_back(parse_region(scan, depth + 1));
    } while (scan.accept(","));
    scan.expect(")");
  }
  if (scan.next_is('{')) parse_dictionary(scan, op.attributes);
  scan.expect(":");
  if (!scan.next_is('(')) scan.fail("expected the operands' types in parentheses");
  op.operand_types = parse_types(scan);
  scan.expect("->");
  op.result_types = parse_types(scan);
}

}  // namespace

ValueName parse_value(Scanner& scan) {
  ValueName value;
  value.at = scan.position();
  scan.expect("%");
  value.name = scan.suffix("a value's name");
  if (scan.accept("#")) value.index = scan.integer();
  return value;
}

std::vector<Argument> parse_arguments(Scanner& scan) {
  std::vector<Argument> arguments;
  scan.expect("(");
  while (!scan.accept(")")) {
    Argument argument;
    scan.expect("%");
    argument.name = scan.suffix("an argument's name");
    scan.expect(":");
    argument.type = parse_type(scan);
    if (scan.next_is('{')) parse_dictionary(scan, argument.attributes);
    skip_location(scan);
    arguments.push_back(std::move(argument));
    if (!scan.accept(",") && !scan.next_is(')')) scan.expect(")");
  }
  return arguments;
}

Operation parse_operation(Scanner& scan, int depth) {
  if (depth > kMaxDepth) scan.fail("regions nested more than {} deep", kMaxDepth);
  Operation op;
  op.results = parse_results(scan);
  op.at = scan.position();
  if (scan.next_is('"')) {
    parse_generic(scan, op, depth);
  } else {
    parse_pretty(scan, op, depth);
  }
  skip_location(scan);
  size_t results = 0;
  for (const ResultName& result : op.results) results += static_cast<size_t>(result.count);
  if (!op.results.empty() && results != op.result_types.size()) {
    scan.source().fail(op.at, "{} has {} result(s) and {} name(s) for them", op.name,
                       op.result_types.size(), results);
  }
  return op;
}

Region parse_region(Scanner& scan, int depth) {
  Region region;
  scan.expect("{");
  if (scan.accept("^")) {
    scan.suffix("a block's name");
    if (scan.next_is('(')) region.arguments = parse_arguments(scan);
    scan.expect(":");
  }
  while (!scan.accept("}")) {
    if (scan.next_is('^')) scan.source().unsupported(scan.position(), "several blocks in a region");
    region.body.push_back(parse_operation(scan, depth));
  }
  return region;
}

}  // namespace centavo::stablehlo
