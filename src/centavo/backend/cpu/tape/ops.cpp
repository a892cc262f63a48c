// Which ops tapes have, and which instruction each is.
#include "centavo/backend/cpu/tape/ops.h"

#include <algorithm>

#include "centavo/ops/registry.h"

namespace centavo::cpu {
namespace {

struct Entry {
  const Op* op;
  Verb verb;
};
constexpr Entry kEntries[] = {
    {&op_abs, Verb::kAbs},
    {&op_add, Verb::kAdd},
    {&op_and, Verb::kAnd},
    {&op_ceil, Verb::kCeil},
    {&op_cosine, Verb::kCos},
    {&op_divide, Verb::kDivide},
    {&op_erf, Verb::kErf},
    {&op_exponential, Verb::kExp},
    {&op_floor, Verb::kFloor},
    {&op_gelu, Verb::kGelu},
    {&op_gelu_grad, Verb::kGeluGrad},
    {&op_is_finite, Verb::kIsFinite},
    {&op_log, Verb::kLog},
    {&op_logistic, Verb::kLogistic},
    {&op_maximum, Verb::kMaximum},
    {&op_minimum, Verb::kMinimum},
    {&op_multiply, Verb::kMultiply},
    {&op_negate, Verb::kNegate},
    {&op_not, Verb::kNot},
    {&op_or, Verb::kOr},
    {&op_power, Verb::kPower},
    {&op_rsqrt, Verb::kRsqrt},
    {&op_select, Verb::kSelect},
    {&op_shift_right_logical, Verb::kShiftRight},
    {&op_sign, Verb::kSign},
    {&op_sine, Verb::kSin},
    {&op_sqrt, Verb::kSqrt},
    {&op_subtract, Verb::kSubtract},
    {&op_tanh, Verb::kTanh},
    {&op_xor, Verb::kXor},
};

Verb comparison(const std::string& direction) {
  if (direction == "EQ") return Verb::kEqual;
  if (direction == "NE") return Verb::kNotEqual;
  if (direction == "LT") return Verb::kLess;
  if (direction == "LE") return Verb::kLessEqual;
  if (direction == "GT") return Verb::kGreater;
  CENTAVO_CHECK(direction == "GE", "comparison {}", direction);
  return Verb::kGreaterEqual;
}

Verb conversion(DType to) {
  switch (*lane_of(to)) {
    case Lane::kF32:
      return Verb::kToF32;
    case Lane::kI32:
      return Verb::kToI32;
    case Lane::kU32:
      return Verb::kToU32;
    case Lane::kBool:
      return Verb::kToBool;
    case Lane::kU8:
      return Verb::kToU8;
    case Lane::kI8:
      return Verb::kToI8;
  }
  CENTAVO_UNREACHABLE();
}

bool has_lanes(const TensorType& type) {
  return lane_of(type.dtype).has_value();
}

}  // namespace

std::optional<Lane> lane_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kBF16:
      return Lane::kF32;
    case DType::kI32:
      return Lane::kI32;
    case DType::kU32:
      return Lane::kU32;
    case DType::kBool:
      return Lane::kBool;
    case DType::kU8:
      return Lane::kU8;
    case DType::kI8:
      return Lane::kI8;
    default:
      return {};
  }
}

std::optional<Verb> verb_of(const Node& node) {
  if (node.op == &op_compare) return comparison(node.attrs.text("direction"));
  if (node.op == &op_convert) return conversion(node.types[0].dtype);
  for (const Entry& entry : kEntries) {
    if (entry.op == node.op) return entry.verb;
  }
  return {};
}

ReduceKind reduce_kind(const Node& reduce) {
  const std::string& kind = reduce.attrs.text("kind");
  return kind == "add" ? ReduceKind::kAdd : kind == "max" ? ReduceKind::kMax : ReduceKind::kMin;
}

bool is_splat(const Node& node) {
  return node.op == &op_constant && node.attrs.literal("value").is_splat();
}

bool runs_on_tape(const Node& node) {
  auto lanes = [](const Tensor& t) { return has_lanes(t.type()); };
  if (node.types.size() != 1 || !has_lanes(node.types[0])) return false;
  if (!std::all_of(node.inputs.begin(), node.inputs.end(), lanes)) return false;
  if (node.types[0].shape.elements() == 0) return false;
  constexpr CpuLevel kAny = CpuLevel::kBaseline;
  const DType result = node.types[0].dtype;
  if (node.op == &op_iota) return find_iota(result, kAny) != nullptr;
  if (is_splat(node) || is_view(node) || node.op == &op_rng_bit_generator) return true;
  if (node.op == &op_reduce) {
    return node.inputs[0].shape().elements() > 0 &&
           find_row_reduce(reduce_kind(node), *lane_of(result), kAny) != nullptr;
  }
  if (!node.op->elementwise) return false;
  std::optional<Verb> verb = verb_of(node);
  return verb && find_map(*verb, *lane_of(node.inputs[0].dtype()), 0, kAny) != nullptr;
}

bool reduces_rows(const Node& reduce, const Loop& loop) {
  if (loop.row_length == 0 || is_view(reduce) ||
      reduce.inputs[0].shape().elements() != loop.elements)
    return false;
  const Access access = reduced_access(reduce.inputs[0].shape(), reduce.attrs.ints("dims"));
  std::optional<Access> rows = per_row(access, loop.row_length);
  return rows && *rows == Access::identity(loop.rows());
}

}  // namespace centavo::cpu
