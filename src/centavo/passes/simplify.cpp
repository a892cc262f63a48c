// Local rewrites to cheaper forms of the same value: a list of rules, each tried on every node.
#include <algorithm>
#include <cmath>
#include <optional>

#include "centavo/ops/ops.h"
#include "centavo/ops/registry.h"
#include "centavo/passes/passes.h"

namespace centavo {
namespace {

using Ints = std::vector<int64_t>;

// What a rule sees: the node, its inputs as already rewritten, and which nodes have one user only.
struct Site {
  const Node& node;
  const std::vector<Tensor>& in;
  const std::vector<bool>& single_use;  // by node id of the graph being rewritten

  // Whether the original node behind input i is read by this node alone.
  bool sole_user_of(size_t i) const {
    return single_use[static_cast<size_t>(node.inputs[i].node()->id)];
  }
};
// The value to use instead, or nothing.
using Rule = std::optional<Tensor> (*)(const Site&);

bool is(const Tensor& t, const Op& op) {
  return t.node()->op == &op;
}
const Tensor& arg(const Tensor& t, size_t i = 0) {
  return t.node()->inputs[i];
}
const Attrs& attrs(const Tensor& t) {
  return t.node()->attrs;
}

std::optional<double> splat_value(const Tensor& t) {
  if (!is(t, op_constant)) return {};
  const Literal& literal = attrs(t).literal("value");
  if (!literal.is_splat()) return {};
  constexpr double kExact = 9007199254740992;  // 2^53: larger integers are not
  if (!is_floating(t.dtype()) && std::abs(literal.value(0)) > kExact) return {};
  return literal.value(0);
}
bool is_splat(const Tensor& t, double value) {
  std::optional<double> v = splat_value(t);
  return v && *v == value;
}

// -- identities

std::optional<Tensor> neutral_operand(const Site& s) {
  const Op* op = s.node.op;
  if (op == &op_add && is_splat(s.in[1], 0)) return s.in[0];
  if (op == &op_add && is_splat(s.in[0], 0)) return s.in[1];
  if (op == &op_subtract && is_splat(s.in[1], 0)) return s.in[0];
  if (op == &op_multiply && is_splat(s.in[1], 1)) return s.in[0];
  if (op == &op_multiply && is_splat(s.in[0], 1)) return s.in[1];
  if (op == &op_divide && is_splat(s.in[1], 1)) return s.in[0];
  return {};
}

// (x * a) * b = x * (a b), for constants a and b.
std::optional<Tensor> merge_factors(const Site& s) {
  if (s.node.op != &op_multiply) return {};
  for (size_t i : {0, 1}) {
    std::optional<double> outer = splat_value(s.in[1 - i]);
    if (!outer || !is(s.in[i], op_multiply)) continue;
    for (size_t j : {0, 1}) {
      if (std::optional<double> inner = splat_value(arg(s.in[i], 1 - j)))
        return arg(s.in[i], j) * (*inner * *outer);
    }
  }
  return {};
}

std::optional<Tensor> chained_convert(const Site& s) {
  if (s.node.op != &op_convert) return {};
  if (s.in[0].dtype() == s.node.types[0].dtype) return s.in[0];
  if (!is(s.in[0], op_convert)) return {};
  DType first = arg(s.in[0]).dtype(), middle = s.in[0].dtype();
  bool lossless = is_floating(first) && is_floating(middle) && size_of(middle) >= size_of(first);
  if (!lossless) return {};
  return convert(arg(s.in[0]), s.node.types[0].dtype);
}

std::optional<Tensor> chained_movement(const Site& s) {
  if (s.node.op == &op_reshape) {
    if (s.in[0].type() == s.node.types[0]) return s.in[0];
    if (is(s.in[0], op_reshape)) return reshape(arg(s.in[0]), s.node.types[0].shape.dims());
  }
  if (s.node.op == &op_transpose && is(s.in[0], op_transpose)) {
    const Ints &outer = s.node.attrs.ints("permutation"),
               &inner = attrs(s.in[0]).ints("permutation");
    Ints both;
    for (int64_t p : outer) both.push_back(inner[static_cast<size_t>(p)]);
    return transpose(arg(s.in[0]), both);
  }
  if ((s.node.op == &op_slice || s.node.op == &op_pad) && s.in[0].type() == s.node.types[0])
    return s.in[0];
  return {};
}

// -- constants

std::optional<Tensor> moved_splat(const Site& s) {
  bool moves = s.node.op == &op_broadcast_in_dim || s.node.op == &op_reshape ||
               s.node.op == &op_transpose || s.node.op == &op_slice || s.node.op == &op_convert;
  if (!moves) return {};
  std::optional<double> value = splat_value(s.in[0]);
  if (!value) return {};
  return full(s.node.types[0].shape, *value, s.node.types[0].dtype);
}

// An elementwise primitive of splats only: computed once, on one element.
std::optional<Tensor> folded_splats(const Site& s) {
  if (!s.node.op->elementwise || !s.node.op->eval || s.node.op == &op_convert) return {};
  Node scalar;
  scalar.op = s.node.op;
  scalar.attrs = s.node.attrs;
  scalar.types = {{s.node.types[0].dtype, {}}};
  std::vector<Array> values;
  for (const Tensor& input : s.in) {
    std::optional<double> value = splat_value(input);
    if (!value) return {};
    values.push_back(Array({input.dtype(), {}}));
    values.back().set(0, *value);
  }
  return full(s.node.types[0].shape, s.node.op->eval(values, scalar)[0].number(0),
              s.node.types[0].dtype);
}

// -- products

bool increasing(const Ints& v) {
  return std::is_sorted(v.begin(), v.end());
}

// A transposed operand is read with other dimension numbers instead, if its free dimensions keep
// their order.
std::optional<Tensor> transposed_operand(const Site& s) {
  if (s.node.op != &op_dot_general) return {};
  for (size_t side : {0, 1}) {
    if (!is(s.in[side], op_transpose)) continue;
    const char* batch_name = side == 0 ? "lhs_batch" : "rhs_batch";
    const char* contract_name = side == 0 ? "lhs_contract" : "rhs_contract";
    const Ints& permutation = attrs(s.in[side]).ints("permutation");
    Attrs changed = s.node.attrs;
    Ints free, used;
    for (const char* name : {batch_name, contract_name}) {
      Ints dims = s.node.attrs.ints(name);
      used.insert(used.end(), dims.begin(), dims.end());
      for (int64_t& d : dims) d = permutation[static_cast<size_t>(d)];
      changed.set(name, dims);
    }
    for (int64_t d = 0; d < s.in[side].rank(); ++d) {
      if (std::find(used.begin(), used.end(), d) == used.end())
        free.push_back(permutation[static_cast<size_t>(d)]);
    }
    if (!increasing(free)) continue;
    std::vector<Tensor> operands = s.in;
    operands[side] = arg(s.in[side]);
    return record1(op_dot_general, operands, changed, s.node.loc);
  }
  return {};
}

// The transpose of a product without batch dimensions is the product of the swapped operands.
std::optional<Tensor> transposed_product(const Site& s) {
  if (s.node.op != &op_transpose || !is(s.in[0], op_dot_general) || !s.sole_user_of(0)) return {};
  const Attrs& a = attrs(s.in[0]);
  if (!a.ints("lhs_batch").empty()) return {};
  const int64_t rank = s.in[0].rank();
  const int64_t lhs_free =
      arg(s.in[0], 0).rank() - static_cast<int64_t>(a.ints("lhs_contract").size());
  Ints swapped;
  for (int64_t d = 0; d < rank; ++d) swapped.push_back((d + lhs_free) % rank);
  if (s.node.attrs.ints("permutation") != swapped) return {};
  DotDims dims{{}, {}, a.ints("rhs_contract"), a.ints("lhs_contract")};
  return dot_general(arg(s.in[0], 1), arg(s.in[0], 0), dims, s.in[0].dtype());
}

// A product that is only converted to a wider dtype is written in that dtype: it was accumulated in
// fp32 anyway.
std::optional<Tensor> widened_product(const Site& s) {
  if (s.node.op != &op_convert || !s.sole_user_of(0)) return {};
  if (!is(s.in[0], op_dot_general) && !is(s.in[0], op_convolution_weight_grad)) return {};
  if (s.node.types[0].dtype != DType::kF32 || s.in[0].dtype() != DType::kBF16) return {};
  Attrs changed = attrs(s.in[0]);
  changed.set("dtype", DType::kF32);
  return record1(*s.in[0].node()->op, s.in[0].node()->inputs, changed, s.node.loc);
}

constexpr Rule kRules[] = {neutral_operand,    merge_factors,      chained_convert,
                           chained_movement,   moved_splat,        folded_splats,
                           transposed_operand, transposed_product, widened_product};

Graph apply_rules(const Graph& graph, bool& changed) {
  std::vector<std::vector<int>> users = users_of(graph);
  std::vector<bool> single_use;
  for (const auto& list : users) single_use.push_back(list.size() == 1);
  for (const Tensor& output : graph.outputs)
    single_use[static_cast<size_t>(output.node()->id)] = false;
  return rewrite(graph,
                 [&](const Node& node, const std::vector<Tensor>& inputs) -> std::vector<Tensor> {
                   if (node.types.size() != 1) return {};
                   for (Rule rule : kRules) {
                     if (std::optional<Tensor> better = rule(Site{node, inputs, single_use})) {
                       changed = true;
                       return {*better};
                     }
                   }
                   return {};
                 });
}

}  // namespace

Graph simplify(const Graph& graph) {
  Graph current = graph;
  // Each round only shrinks or moves towards the leaves; the bound is a safeguard.
  for (int round = 0; round < 20; ++round) {
    bool changed = false;
    current = apply_rules(current, changed);
    if (!changed) break;
  }
  return current;
}

}  // namespace centavo
