// The binary elementwise primitives, compare and select: one entry each, with its value and its
// gradient.
#include <cmath>
#include <concepts>

#include "centavo/ops/creation.h"
#include "centavo/ops/elementwise.h"
#include "centavo/ops/movement.h"
#include "centavo/ops/registry.h"

namespace centavo {
namespace {

enum Kinds { kNumbers = 1, kFloats = 2, kBits = 4 };

template <int kinds>
std::vector<TensorType> infer(const InferArgs& args) {
  args.expect_inputs(2);
  if (args.type(0) != args.type(1)) {
    args.fail("expects two operands of one type, got {} and {}", to_string(args.type(0)),
              to_string(args.type(1)));
  }
  DType d = args.dtype(0);
  if (kinds == kFloats && !is_floating(d))
    args.fail("expects a floating dtype, got {}", to_string(args.type(0)));
  if (kinds == kBits && is_floating(d))
    args.fail("expects bool or integers, got {}", to_string(args.type(0)));
  if (kinds == kNumbers && d == DType::kBool) args.fail("expects numbers, got bool");
  return {args.type(0)};
}

// F is a functor over double, int64_t and, for u64, uint64_t.
template <class F>
std::vector<Array> eval(std::span<const Array> in, const Node&) {
  Array out(in[0].type);
  if (out.type.dtype == DType::kU64) {
    for (size_t i = 0; i < out.wholes.size(); ++i) {
      out.wholes[i] = static_cast<int64_t>(
          F{}(static_cast<uint64_t>(in[0].wholes[i]), static_cast<uint64_t>(in[1].wholes[i])));
    }
    return {out};
  }
  for (size_t i = 0; i < out.reals.size(); ++i) out.reals[i] = F{}(in[0].reals[i], in[1].reals[i]);
  for (size_t i = 0; i < out.wholes.size(); ++i) {
    out.wholes[i] =
        wrap(out.type.dtype, static_cast<int64_t>(F{}(in[0].wholes[i], in[1].wholes[i])));
  }
  return {out};
}

using Vjp = std::vector<Tensor> (*)(const VjpArgs&);
constexpr Vjp kNoGradient = [](const VjpArgs&) -> std::vector<Tensor> {
  return {Tensor(), Tensor()};
};

template <int64_t low_tenths, int64_t high_tenths>
std::vector<Case> float_cases() {
  constexpr double low = low_tenths / 10.0, high = high_tenths / 10.0;
  std::vector<Case> list;
  for (DType d : {DType::kF32, DType::kBF16}) {
    for (Shape shape : {Shape{}, Shape{3, 17}, Shape{1000}}) {
      list.push_back(
          {to_string(TensorType{d, shape}), {{{d, shape}, low, high}, {{d, shape}, low, high}}});
    }
  }
  return list;
}

std::vector<Case> number_cases() {
  std::vector<Case> list = float_cases<-20, 20>();
  list.push_back(
      {"i32", {{{DType::kI32, {3, 17}}, -9, 9}, {{DType::kI32, {3, 17}}, -9, 9}}, {}, 0, false});
  return list;
}

std::vector<Case> bit_cases() {
  return {{"bool", {{{DType::kBool, {3, 5}}, 0, 1}, {{DType::kBool, {3, 5}}, 0, 1}}, {}, 0, false},
          {"u32", {{{DType::kU32, {7}}, 0, 31}, {{DType::kU32, {7}}, 0, 31}}, {}, 0, false}};
}

template <class F>
constexpr Op number_op(std::string_view name, Vjp vjp) {
  return {.name = name,
          .infer = infer<kNumbers>,
          .vjp = vjp,
          .eval = eval<F>,
          .cases = number_cases,
          .elementwise = true};
}
template <class F>
constexpr Op bit_op(std::string_view name) {
  return {.name = name,
          .infer = infer<kBits>,
          .vjp = kNoGradient,
          .eval = eval<F>,
          .cases = bit_cases,
          .elementwise = true};
}

struct Add {
  auto operator()(auto a, auto b) const { return a + b; }
};
struct Subtract {
  auto operator()(auto a, auto b) const { return a - b; }
};
struct Multiply {
  auto operator()(auto a, auto b) const { return a * b; }
};
struct Divide {
  double operator()(double a, double b) const { return a / b; }
  int64_t operator()(int64_t a, int64_t b) const {
    return b == 0 ? -1 : b == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(a)) : a / b;
  }
  uint64_t operator()(uint64_t a, uint64_t b) const { return b == 0 ? ~uint64_t{0} : a / b; }
};
// A NaN in either operand is the result, as StableHLO has it.
struct Maximum {
  double operator()(double a, double b) const { return a != a ? a : b != b ? b : a > b ? a : b; }
  template <std::integral T>
  T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};
struct Minimum {
  double operator()(double a, double b) const { return a != a ? a : b != b ? b : a < b ? a : b; }
  template <std::integral T>
  T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};
struct Power {
  double operator()(double a, double b) const { return std::pow(a, b); }
};
struct And {
  int64_t operator()(int64_t a, int64_t b) const { return a & b; }
};
struct Or {
  int64_t operator()(int64_t a, int64_t b) const { return a | b; }
};
struct Xor {
  int64_t operator()(int64_t a, int64_t b) const { return a ^ b; }
};
// Zeros come in at the top of the dtype, not of 64 bits.
std::vector<Array> eval_shift_right(std::span<const Array> in, const Node&) {
  Array out(in[0].type);
  const int64_t bits = 8 * size_of(out.type.dtype);
  for (size_t i = 0; i < out.wholes.size(); ++i) {
    const auto a = static_cast<uint64_t>(in[0].wholes[i]) & (~uint64_t{0} >> (64 - bits));
    const int64_t b = in[1].wholes[i];
    out.wholes[i] = b < 0 || b >= bits ? 0 : wrap(out.type.dtype, static_cast<int64_t>(a >> b));
  }
  return {out};
}

// The gradient of max or min: all of it to the winner, half to each on a tie.
std::vector<Tensor> extremum_vjp(const VjpArgs& a) {
  auto share = [&](const Tensor& mine, const Tensor& other) {
    Tensor tie = compare(mine, other, Comparison::kEq);
    Tensor won = compare(mine, a.outputs[0], Comparison::kEq);
    Tensor g = select(won, a.grads[0], full_like(a.grads[0], 0));
    return select(tie, g * 0.5, g);
  };
  return {share(a.inputs[0], a.inputs[1]), share(a.inputs[1], a.inputs[0])};
}

constexpr const char* kDirections[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};

bool holds(std::string_view how, auto a, auto b) {
  if (how == "EQ") return a == b;
  if (how == "NE") return a != b;
  if (how == "LT") return a < b;
  if (how == "LE") return a <= b;
  if (how == "GT") return a > b;
  return a >= b;
}

// Broadcasts both operands to their common shape and records.
Tensor broadcast_record(const Op& op, const Tensor& a, const Tensor& b, const Attrs& attrs,
                        const Loc& loc) {
  if (!a.defined() || !b.defined() || a.shape() == b.shape())
    return record1(op, {a, b}, attrs, loc);
  Shape shape = broadcast_shapes(a.shape(), b.shape(), op.name, loc);
  return record1(op, {broadcast_to(a, shape, loc), broadcast_to(b, shape, loc)}, attrs, loc);
}

}  // namespace

const Op op_add = number_op<Add>("add", [](const VjpArgs& a) -> std::vector<Tensor> {
  return {a.grads[0], a.grads[0]};
});
const Op op_subtract = number_op<Subtract>("subtract", [](const VjpArgs& a) -> std::vector<Tensor> {
  return {a.grads[0], -a.grads[0]};
});
const Op op_multiply = number_op<Multiply>("multiply", [](const VjpArgs& a) -> std::vector<Tensor> {
  return {a.needs[0] ? a.grads[0] * a.inputs[1] : Tensor(),
          a.needs[1] ? a.grads[0] * a.inputs[0] : Tensor()};
});
const Op op_divide = {.name = "divide",
                      .infer = infer<kNumbers>,
                      .vjp = [](const VjpArgs& a) -> std::vector<Tensor> {
                        Tensor g = a.grads[0] / a.inputs[1];
                        return {g, a.needs[1] ? -(g * a.outputs[0]) : Tensor()};
                      },
                      .eval = eval<Divide>,
                      .cases = float_cases<10, 30>,
                      .elementwise = true};
const Op op_maximum = number_op<Maximum>("maximum", extremum_vjp);
const Op op_minimum = number_op<Minimum>("minimum", extremum_vjp);
const Op op_power = {.name = "power",
                     .infer = infer<kFloats>,
                     .vjp = [](const VjpArgs& a) -> std::vector<Tensor> {
                       const Tensor &x = a.inputs[0], &y = a.inputs[1];
                       return {a.needs[0] ? a.grads[0] * y * power(x, y - 1.0) : Tensor(),
                               a.needs[1] ? a.grads[0] * a.outputs[0] * log(x) : Tensor()};
                     },
                     .eval = eval<Power>,
                     .cases = float_cases<5, 20>,
                     .elementwise = true};
const Op op_and = bit_op<And>("and");
const Op op_or = bit_op<Or>("or");
const Op op_xor = bit_op<Xor>("xor");
const Op op_shift_right_logical = {
    .name = "shift_right_logical",
    .infer = infer<kBits>,
    .vjp = kNoGradient,
    .eval = eval_shift_right,
    .cases = []() -> std::vector<Case> {
      return {{"u32", {{{DType::kU32, {7}}, 0, 1e6}, {{DType::kU32, {7}}, 0, 31}}, {}, 0, false}};
    },
    .elementwise = true};

const Op op_compare = {
    .name = "compare",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(2);
      if (args.type(0) != args.type(1)) {
        args.fail("expects two operands of one type, got {} and {}", to_string(args.type(0)),
                  to_string(args.type(1)));
      }
      return {{DType::kBool, args.shape(0)}};
    },
    .vjp = kNoGradient,
    .eval = [](std::span<const Array> in, const Node& node) -> std::vector<Array> {
      Array out(node.types[0]);
      const std::string& how = node.attrs.text("direction");
      for (size_t i = 0; i < out.wholes.size(); ++i) {
        if (in[0].floating()) {
          out.wholes[i] = holds(how, in[0].reals[i], in[1].reals[i]);
        } else if (in[0].type.dtype == DType::kU64) {
          out.wholes[i] = holds(how, static_cast<uint64_t>(in[0].wholes[i]),
                                static_cast<uint64_t>(in[1].wholes[i]));
        } else {
          out.wholes[i] = holds(how, in[0].wholes[i], in[1].wholes[i]);
        }
      }
      return {out};
    },
    .cases = []() -> std::vector<Case> {
      std::vector<Case> list;
      for (const char* how : kDirections) {
        for (DType d : {DType::kF32, DType::kI32}) {
          list.push_back({fmt::format("{}_{}", how, name_of(d)),
                          {{{d, {3, 17}}, -3, 3}, {{d, {3, 17}}, -3, 3}},
                          Attrs().set("direction", how),
                          0,
                          false});
        }
      }
      return list;
    },
    .elementwise = true};

const Op op_select = {
    .name = "select",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(3);
      if (args.dtype(0) != DType::kBool)
        args.fail("expects a bool condition, got {}", to_string(args.type(0)));
      if (args.type(1) != args.type(2) || args.shape(0) != args.shape(1)) {
        args.fail("expects condition and branches of one shape, got {}, {} and {}",
                  to_string(args.type(0)), to_string(args.type(1)), to_string(args.type(2)));
      }
      return {args.type(1)};
    },
    .vjp = [](const VjpArgs& a) -> std::vector<Tensor> {
      Tensor zero = full_like(a.grads[0], 0);
      return {Tensor(), select(a.inputs[0], a.grads[0], zero),
              select(a.inputs[0], zero, a.grads[0])};
    },
    .eval = [](std::span<const Array> in, const Node& node) -> std::vector<Array> {
      Array out(node.types[0]);
      for (int64_t i = 0; i < out.size(); ++i) {
        const Array& from = in[0].wholes[static_cast<size_t>(i)] ? in[1] : in[2];
        if (out.floating())
          out.reals[static_cast<size_t>(i)] = from.reals[static_cast<size_t>(i)];
        else
          out.wholes[static_cast<size_t>(i)] = from.wholes[static_cast<size_t>(i)];
      }
      return {out};
    },
    .cases = []() -> std::vector<Case> {
      std::vector<Case> list;
      for (DType d : {DType::kF32, DType::kBF16, DType::kI32}) {
        list.push_back(
            {std::string(name_of(d)),
             {{{DType::kBool, {3, 17}}, 0, 1}, {{d, {3, 17}}, -3, 3}, {{d, {3, 17}}, -3, 3}},
             {},
             0,
             is_floating(d)});
      }
      return list;
    },
    .elementwise = true};

Tensor add(const Tensor& a, const Tensor& b, const Loc& loc) {
  return broadcast_record(op_add, a, b, {}, loc);
}
Tensor divide(const Tensor& a, const Tensor& b, const Loc& loc) {
  return broadcast_record(op_divide, a, b, {}, loc);
}
Tensor logical_and(const Tensor& a, const Tensor& b, const Loc& loc) {
  return broadcast_record(op_and, a, b, {}, loc);
}
Tensor logical_or(const Tensor& a, const Tensor& b, const Loc& loc) {
  return broadcast_record(op_or, a, b, {}, loc);
}
Tensor maximum(const Tensor& a, const Tensor& b, const Loc& loc) {
  return broadcast_record(op_maximum, a, b, {}, loc);
}
Tensor minimum(const Tensor& a, const Tensor& b, const Loc& loc) {
  return broadcast_record(op_minimum, a, b, {}, loc);
}
Tensor multiply(const Tensor& a, const Tensor& b, const Loc& loc) {
  return broadcast_record(op_multiply, a, b, {}, loc);
}
Tensor power(const Tensor& a, const Tensor& b, const Loc& loc) {
  return broadcast_record(op_power, a, b, {}, loc);
}
Tensor shift_right(const Tensor& a, const Tensor& b, const Loc& loc) {
  return broadcast_record(op_shift_right_logical, a, b, {}, loc);
}
Tensor subtract(const Tensor& a, const Tensor& b, const Loc& loc) {
  return broadcast_record(op_subtract, a, b, {}, loc);
}
Tensor compare(const Tensor& a, const Tensor& b, Comparison how, const Loc& loc) {
  return broadcast_record(op_compare, a, b,
                          Attrs().set("direction", kDirections[static_cast<int>(how)]), loc);
}
Tensor select(const Tensor& condition, const Tensor& a, const Tensor& b, const Loc& loc) {
  Shape shape = broadcast_shapes(a.shape(), b.shape(), "select", loc);
  shape = broadcast_shapes(shape, condition.shape(), "select", loc);
  return record1(op_select,
                 {broadcast_to(condition, shape, loc), broadcast_to(a, shape, loc),
                  broadcast_to(b, shape, loc)},
                 {}, loc);
}

Tensor operator+(const Tensor& a, const Tensor& b) {
  return add(a, b);
}
Tensor operator-(const Tensor& a, const Tensor& b) {
  return subtract(a, b);
}
Tensor operator*(const Tensor& a, const Tensor& b) {
  return multiply(a, b);
}
Tensor operator/(const Tensor& a, const Tensor& b) {
  return divide(a, b);
}
Tensor operator+(const Tensor& a, double b) {
  return add(a, full_like(a, b));
}
Tensor operator-(const Tensor& a, double b) {
  return subtract(a, full_like(a, b));
}
Tensor operator*(const Tensor& a, double b) {
  return multiply(a, full_like(a, b));
}
Tensor operator/(const Tensor& a, double b) {
  return divide(a, full_like(a, b));
}
Tensor operator+(double a, const Tensor& b) {
  return add(full_like(b, a), b);
}
Tensor operator-(double a, const Tensor& b) {
  return subtract(full_like(b, a), b);
}
Tensor operator*(double a, const Tensor& b) {
  return multiply(full_like(b, a), b);
}
Tensor operator/(double a, const Tensor& b) {
  return divide(full_like(b, a), b);
}

}  // namespace centavo
