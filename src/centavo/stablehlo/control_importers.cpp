// Calls, branches and loops. A graph has none of them: functions are inlined, branches that depend
// on inputs are all computed and selected from, loops are unrolled.
#include "centavo/ops/ops.h"
#include "centavo/stablehlo/fold.h"
#include "centavo/stablehlo/importers.h"

namespace centavo::stablehlo {
namespace {

std::string_view symbol(const OpReader& r, std::string_view name) {
  return r.keyword(name);
}

// Of the branches' results, those of number `index`; beyond them, those of the last.
Tensors choose(const OpReader& r, const Tensor& index, const std::vector<Tensors>& branches) {
  Tensors results = branches.back();
  for (size_t b = branches.size() - 1; b-- > 0;) {
    if (branches[b].size() != results.size()) r.fail("branches differ in their results");
    const Tensor here = compare(index, full_like(index, static_cast<double>(b)), Comparison::kEq);
    for (size_t i = 0; i < results.size(); ++i) {
      if (branches[b][i].type() != results[i].type()) r.fail("branches differ in their results");
      results[i] = select(here, branches[b][i], results[i]);
    }
  }
  return results;
}

Tensors branch(const OpReader& r, const Tensor& index) {
  const size_t count = r.op.regions.size();
  if (const std::optional<double> known = scalar_value(index)) {
    const bool within = *known >= 0 && *known < static_cast<double>(count);
    return r.run_region(within ? static_cast<size_t>(*known) : count - 1, {});
  }
  std::vector<Tensors> branches;
  for (size_t b = 0; b < count; ++b) branches.push_back(r.run_region(b, {}));
  return choose(r, index, branches);
}

}  // namespace

Tensors import_call(const OpReader& r) {
  const Function& f = r.importer.function(symbol(r, "callee"), r.op.at);
  return r.importer.call(f, r.operands, r.op.at);
}

Tensors import_composite(const OpReader& r) {
  const Function& f = r.importer.function(symbol(r, "decomposition"), r.op.at);
  return r.importer.call(f, r.operands, r.op.at);
}

Tensors import_case(const OpReader& r) {
  r.expect_operands(1);
  r.region(0);
  if (r.operand(0).rank() != 0 || r.operand(0).dtype() != DType::kI32)
    r.fail("expects an index of type tensor<i32>");
  return branch(r, r.operand(0));
}

// The first region runs on true.
Tensors import_if(const OpReader& r) {
  r.expect_operands(1);
  r.region(1);
  if (r.operand(0).rank() != 0 || r.operand(0).dtype() != DType::kBool)
    r.fail("expects a condition of type tensor<i1>");
  return branch(r, convert(logical_not(r.operand(0)), DType::kI32));
}

Tensors import_while(const OpReader& r) {
  constexpr int kMostIterations = 4096;
  r.region(1);
  Tensors state = r.operands;
  for (int i = 0; i < kMostIterations; ++i) {
    const Tensors conditions = r.run_region(0, state);
    if (conditions.size() != 1) r.fail("the condition returns {} values", conditions.size());
    const std::optional<double> go_on = scalar_value(conditions[0]);
    if (!go_on) r.unsupported("a number of iterations that depends on inputs");
    if (*go_on == 0) return state;
    Tensors next = r.run_region(1, state);
    if (next.size() != state.size()) r.fail("the body returns {} values", next.size());
    for (size_t v = 0; v < next.size(); ++v) {
      if (next[v].type() != state[v].type()) r.fail("variable {} changes its type", v);
      state[v] = folded(next[v]);
    }
  }
  r.unsupported("more than {} iterations", kMostIterations);
}

Tensors import_custom_call(const OpReader& r) {
  const std::string_view target = symbol(r, "call_target_name");
  if (target.starts_with("check.")) return import_check(r);
  if (target == "Sharding" || target == "annotate_device_placement") return r.operands;
  r.unsupported("target {}", target);
}

}  // namespace centavo::stablehlo
