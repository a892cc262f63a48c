// Element-by-element ops that Centavo lacks, of those that it has. All work on any shape, and so
// inside regions of scalars that run over many at once.
#include <cmath>
#include <limits>
#include <numbers>

#include "centavo/ops/ops.h"
#include "centavo/ops/registry.h"
#include "centavo/stablehlo/importers.h"

namespace centavo::stablehlo {
namespace {

Tensor equals(const Tensor& a, double b) {
  return compare(a, full_like(a, b), Comparison::kEq);
}
Tensor less(const Tensor& a, double b) {
  return compare(a, full_like(a, b), Comparison::kLt);
}
Tensor either(const Tensor& condition, const Tensor& a, const Tensor& b) {
  return select(condition, a, b);
}
int bits_of(DType dtype) {
  return static_cast<int>(8 * size_of(dtype));
}
bool is_signed(DType d) {
  return d == DType::kI8 || d == DType::kI32 || d == DType::kI64 || is_floating(d);
}
void expect_whole(const OpReader& r) {
  for (const Tensor& x : r.operands) {
    if (!is_integer(x.dtype())) r.fail("expects integers, got {}", to_string(x.type()));
  }
}
void expect_floating(const OpReader& r) {
  for (const Tensor& x : r.operands) {
    if (!is_floating(x.dtype())) r.fail("expects a floating type, got {}", to_string(x.type()));
  }
}
void expect_same_types(const OpReader& r, size_t count) {
  r.expect_operands(count);
  for (const Tensor& x : r.operands) {
    if (x.type() != r.operand(0).type()) r.fail("expects operands of one type");
  }
}

// Set to the right of the highest set bit.
Tensor smeared(Tensor x) {
  for (int shift = 1; shift < bits_of(x.dtype()); shift *= 2)
    x = logical_or(x, shift_right(x, full_like(x, shift)));
  return x;
}

// One bit at a time: every width is small, and no constant needs more than 53 bits.
Tensor bit_count(const Tensor& x) {
  Tensor count = full_like(x, 0);
  const Tensor one = full_like(x, 1);
  for (int bit = 0; bit < bits_of(x.dtype()); ++bit)
    count = add(count, logical_and(shift_right(x, full_like(x, bit)), one));
  return count;
}

// base^exponent by squaring, in the type's own wrapping arithmetic.
Tensor whole_power(const Tensor& base, const Tensor& exponent) {
  const Tensor one = full_like(base, 1);
  Tensor result = one, square = base;
  for (int bit = 0; bit < bits_of(base.dtype()); ++bit) {
    const Tensor set = logical_and(shift_right(exponent, full_like(exponent, bit)), one);
    result = either(equals(set, 1), multiply(result, square), result);
    square = multiply(square, square);
  }
  if (!is_signed(base.dtype())) return result;
  // 1 / base^|exponent|, rounded to zero.
  const Tensor odd = equals(logical_and(exponent, one), 1);
  const Tensor of_minus_one = either(odd, full_like(base, -1), one);
  const Tensor inverse =
      either(equals(base, 1), one,
             either(equals(base, -1), of_minus_one,
                    either(equals(base, 0), full_like(base, -1), full_like(base, 0))));
  return either(less(exponent, 0), inverse, result);
}

Tensor truncated(const Tensor& x) {
  return multiply(sign(x), floor(abs(x)));
}

}  // namespace

// Ops by their own names, where the primitives take the operands' dtype; the others below.
Tensors import_elementwise(const OpReader& r) {
  const std::string_view name = r.op.name.substr(r.op.name.find('.') + 1);
  return record(*find_op(name), r.operands);
}

Tensors import_erf(const OpReader& r) {
  return record(op_erf, r.operands);
}

Tensors import_add(const OpReader& r) {
  const bool logical = r.operand(0).dtype() == DType::kBool;
  return record(logical ? op_or : op_add, r.operands);
}
Tensors import_multiply(const OpReader& r) {
  const bool logical = r.operand(0).dtype() == DType::kBool;
  return record(logical ? op_and : op_multiply, r.operands);
}
Tensors import_maximum(const OpReader& r) {
  const bool logical = r.operand(0).dtype() == DType::kBool;
  return record(logical ? op_or : op_maximum, r.operands);
}
Tensors import_minimum(const OpReader& r) {
  const bool logical = r.operand(0).dtype() == DType::kBool;
  return record(logical ? op_and : op_minimum, r.operands);
}

Tensors import_sign(const OpReader& r) {
  r.expect_operands(1);
  const Tensor& x = r.operand(0);
  if (!is_integer(x.dtype())) return record(op_sign, r.operands);
  const Tensor zero = full_like(x, 0);
  return {either(equals(x, 0), zero, either(less(x, 0), full_like(x, -1), full_like(x, 1)))};
}

Tensors import_abs(const OpReader& r) {
  r.expect_operands(1);
  const Tensor& x = r.operand(0);
  if (!is_integer(x.dtype())) return record(op_abs, r.operands);
  return {either(less(x, 0), subtract(full_like(x, 0), x), x)};
}

Tensors import_negate(const OpReader& r) {
  r.expect_operands(1);
  const Tensor& x = r.operand(0);
  if (!is_integer(x.dtype())) return record(op_negate, r.operands);
  return {subtract(full_like(x, 0), x)};
}

Tensors import_power(const OpReader& r) {
  expect_same_types(r, 2);
  if (!is_integer(r.operand(0).dtype())) return record(op_power, r.operands);
  return {whole_power(r.operand(0), r.operand(1))};
}

// a - b * trunc(a / b): the sign of a, as fmod.
Tensors import_remainder(const OpReader& r) {
  expect_same_types(r, 2);
  const Tensor &a = r.operand(0), &b = r.operand(1);
  if (is_integer(a.dtype()))
    return {either(equals(b, 0), a, subtract(a, multiply(divide(a, b), b)))};
  expect_floating(r);
  // In double the quotient of two floats is exact enough to be truncated.
  const Tensor wide_a = convert(a, DType::kF64), wide_b = convert(b, DType::kF64);
  const Tensor whole = truncated(divide(wide_a, wide_b));
  const Tensor rest = subtract(wide_a, multiply(whole, wide_b));
  // By infinity nothing is taken off.
  const Tensor bounded = either(is_finite(wide_b), rest, wide_a);
  return {convert(bounded, a.dtype())};
}

Tensors import_clamp(const OpReader& r) {
  r.expect_operands(3);
  const Tensor& x = r.operand(1);
  auto spread = [&](const Tensor& bound) {
    if (bound.dtype() != x.dtype() || (bound.rank() != 0 && bound.shape() != x.shape()))
      r.fail("bound {} does not fit {}", to_string(bound.type()), to_string(x.type()));
    return broadcast_to(bound, x.shape());
  };
  return {minimum(maximum(spread(r.operand(0)), x), spread(r.operand(2)))};
}

Tensors import_compare(const OpReader& r) {
  const std::string_view direction = r.keyword("comparison_direction");
  if (r.has("compare_type") && r.keyword("compare_type") == "TOTALORDER")
    r.unsupported("TOTALORDER");
  constexpr std::string_view kDirections[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
  if (std::find(std::begin(kDirections), std::end(kDirections), direction) == std::end(kDirections))
    r.fail("there is no comparison '{}'", direction);
  return record(op_compare, r.operands, Attrs().set("direction", std::string(direction)));
}

Tensors import_select(const OpReader& r) {
  r.expect_operands(3);
  Tensor condition = r.operand(0);
  if (condition.rank() == 0) condition = broadcast_to(condition, r.operand(1).shape());
  return record(op_select, {condition, r.operand(1), r.operand(2)});
}

Tensors import_convert(const OpReader& r) {
  return {convert(r.operand(0), r.result_type().dtype)};
}

Tensors import_tan(const OpReader& r) {
  expect_floating(r);
  return {divide(sin(r.operand(0)), cos(r.operand(0)))};
}

// sign(x) |x|^(1/3), refined by one step of Newton's.
Tensors import_cbrt(const OpReader& r) {
  expect_floating(r);
  const Tensor x = convert(r.operand(0), DType::kF64);
  const Tensor root = power(abs(x), full_like(x, 1.0 / 3));
  return {convert(multiply(sign(x), root), r.operand(0).dtype())};
}

// exp(x) - 1 = 2 tanh(x / 2) / (1 - tanh(x / 2)), which keeps small x; large ones overflow plainly.
Tensors import_exponential_minus_one(const OpReader& r) {
  expect_floating(r);
  const Tensor x = convert(r.operand(0), DType::kF64);
  const Tensor t = tanh(multiply(x, full_like(x, 0.5)));
  const Tensor one = full_like(x, 1);
  const Tensor near = divide(add(t, t), subtract(one, t));
  const Tensor far = subtract(exp(x), one);
  const Tensor y = either(less(abs(x), 0.5), near, far);
  return {convert(either(equals(x, 0), x, y), r.operand(0).dtype())};
}

// log(u) x / (u - 1) for u = 1 + x as rounded: what the rounding lost cancels.
Tensors import_log_plus_one(const OpReader& r) {
  expect_floating(r);
  const Tensor x = convert(r.operand(0), DType::kF64);
  const Tensor one = full_like(x, 1);
  const Tensor u = add(x, one);
  const Tensor corrected = divide(multiply(log(u), x), subtract(u, one));
  const Tensor y = either(equals(u, 1), x, either(is_finite(corrected), corrected, log(u)));
  return {convert(y, r.operand(0).dtype())};
}

Tensors import_round_nearest_afz(const OpReader& r) {
  expect_floating(r);
  const Tensor& x = r.operand(0);
  const Tensor size = abs(x), whole = floor(size);
  const Tensor up = less(subtract(size, whole), 0.5);
  const Tensor rounded = either(up, whole, add(whole, full_like(x, 1)));
  return {multiply(sign(x), either(is_finite(x), rounded, size))};
}

Tensors import_round_nearest_even(const OpReader& r) {
  expect_floating(r);
  const Tensor& x = r.operand(0);
  const Tensor size = abs(x), whole = floor(size), rest = subtract(size, whole);
  const Tensor half = multiply(whole, full_like(x, 0.5));
  const Tensor even = compare(half, floor(half), Comparison::kEq);
  const Tensor down = logical_or(less(rest, 0.5), logical_and(equals(rest, 0.5), even));
  const Tensor rounded = either(down, whole, add(whole, full_like(x, 1)));
  return {multiply(sign(x), either(is_finite(x), rounded, size))};
}

// x times 2^s, the power put together from s's bits.
Tensors import_shift_left(const OpReader& r) {
  expect_same_types(r, 2);
  expect_whole(r);
  const Tensor &x = r.operand(0), &s = r.operand(1);
  const int bits = bits_of(x.dtype());
  Tensor y = x;
  for (int step = 1; step < bits; step *= 2) {
    Tensor moved = y;
    for (int i = 0; i < step; ++i) moved = add(moved, moved);
    const Tensor set = logical_and(s, full_like(s, step));
    y = either(equals(set, 0), y, moved);
  }
  const Tensor within = logical_and(logical_not(less(s, 0)), less(s, bits));
  return {either(within, y, full_like(x, 0))};
}

// The complement of a negative number shifts zeros in.
Tensors import_shift_right_arithmetic(const OpReader& r) {
  expect_same_types(r, 2);
  expect_whole(r);
  const Tensor &x = r.operand(0), &s = r.operand(1);
  if (!is_signed(x.dtype())) r.unsupported("unsigned operands");
  const Tensor negative = less(x, 0);
  const Tensor size = either(negative, logical_not(x), x);
  const Tensor shifted = shift_right(size, s);
  return {either(negative, logical_not(shifted), shifted)};
}

Tensors import_popcnt(const OpReader& r) {
  expect_whole(r);
  return {bit_count(r.operand(0))};
}

Tensors import_count_leading_zeros(const OpReader& r) {
  expect_whole(r);
  const Tensor& x = r.operand(0);
  return {subtract(full_like(x, bits_of(x.dtype())), bit_count(smeared(x)))};
}

// To bf16's exponent and mantissa, or f32's.
Tensors import_reduce_precision(const OpReader& r) {
  expect_floating(r);
  const Tensor& x = r.operand(0);
  int64_t exponent = 0, mantissa = 0;
  if (r.has("format")) {
    const std::string_view format = r.keyword("format");
    if (format == "e8m7") exponent = 8, mantissa = 7;
    if (format == "e8m23") exponent = 8, mantissa = 23;
  } else {
    exponent = r.integer("exponent_bits");
    mantissa = r.integer("mantissa_bits");
  }
  if (exponent == 8 && mantissa == 7) return {convert(convert(x, DType::kBF16), x.dtype())};
  if (exponent == 8 && mantissa == 23 && x.dtype() != DType::kF64) return {x};
  r.unsupported("formats other than e8m7 and e8m23");
}

}  // namespace centavo::stablehlo
