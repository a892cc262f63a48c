// The dialect in which StableHLO's own tests say what they expect.
#include "centavo/ops/ops.h"
#include "centavo/stablehlo/dense.h"
#include "centavo/stablehlo/importers.h"

namespace centavo::stablehlo {
namespace {

double real_attribute(const OpReader& r, std::string_view name, double fallback) {
  if (!r.has(name)) return fallback;
  const auto& value = r.attribute(name).value;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  r.fail("'{}' must be a number", name);
}

// The second operand, or the constant in its place.
Tensor expected_value(const OpReader& r) {
  if (r.operands.size() == 2) return r.operand(1);
  r.expect_operands(1);
  const auto* dense = std::get_if<DenseText>(&r.attribute("value").value);
  if (!dense) r.fail("'value' must be dense<...>");
  return constant(decode(r.importer.source(), *dense));
}

}  // namespace

Tensors import_check(const OpReader& r) {
  std::string_view name = r.op.name;
  if (name == "stablehlo.custom_call") name = r.keyword("call_target_name");
  name.remove_prefix(std::string_view("check.").size());
  if (name.ends_with("_const")) name.remove_suffix(std::string_view("_const").size());
  Expectation e;
  e.place = r.importer.source().place(r.op.at);
  e.actual = r.operand(0);
  e.expected = expected_value(r);
  if (e.actual.type() != e.expected.type())
    r.fail("compares {} with {}", to_string(e.actual.type()), to_string(e.expected.type()));
  if (name == "expect_almost_eq") {
    e.tolerance = real_attribute(r, "tolerance", 1e-4);
  } else if (name == "expect_close") {
    e.ulps = static_cast<int64_t>(real_attribute(r, "max_ulp_difference", 3));
  } else if (name != "expect_eq" && name != "eq") {
    r.unsupported("check.{}", name);
  }
  r.importer.expect(std::move(e));
  return {};
}

}  // namespace centavo::stablehlo
