// Recognition of what a region does.
#include "centavo/stablehlo/region.h"

#include "centavo/stablehlo/fold.h"
#include "centavo/stablehlo/identity.h"

namespace centavo::stablehlo {

std::string combiner_of(const OpReader& r, const Region& region) {
  if (region.arguments.size() != 2) r.fail("expects a region of two arguments");
  if (region.body.size() != 2) return "";
  const Operation &op = region.body[0], &end = region.body[1];
  if (op.operands.size() != 2 || op.results.size() != 1 || end.operands.size() != 1 ||
      end.operands[0].name != op.results[0].name)
    return "";
  const std::string_view a = region.arguments[0].name, b = region.arguments[1].name;
  const std::string_view x = op.operands[0].name, y = op.operands[1].name;
  const bool in_order = x == a && y == b;
  if (!in_order && !(x == b && y == a)) return "";
  if (op.name == "stablehlo.add") return "add";
  if (op.name == "stablehlo.maximum") return "max";
  if (op.name == "stablehlo.minimum") return "min";
  if (op.name == "stablehlo.compare" && in_order) {
    const auto direction = op.attributes.find("comparison_direction");
    if (direction == op.attributes.end()) return "";
    const auto* keyword = std::get_if<Keyword>(&direction->second.value);
    return keyword && keyword->text == "GE" ? "GE" : "";
  }
  return "";
}

bool is_identity(const Tensor& x, const std::string& kind) {
  return scalar_value(x) == identity_of(kind, x.dtype()).value(0);
}

}  // namespace centavo::stablehlo
