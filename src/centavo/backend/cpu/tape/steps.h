// The vector instructions of a tape, for each level of the processor: found by what they do and on
// which lanes.
#pragma once

#include "centavo/backend/cpu/cpu_level.h"
#include "centavo/backend/cpu/tape/tape.h"
#include "centavo/base/dtype.h"

namespace centavo::cpu {

using StepFunction = void (*)(const Step&, const Tile&);

enum class Verb : uint8_t {
  // one operand: dst = f(a)
  kAbs,
  kCeil,
  kCos,
  kErf,
  kExp,
  kFloor,
  kGelu,
  kIsFinite,
  kLog,
  kLogistic,
  kNegate,
  kNot,
  kReciprocal,
  kRoundToBf16,
  kRsqrt,
  kSign,
  kSin,
  kSqrt,
  kTanh,
  kToBool,
  kToF32,
  kToI8,
  kToI32,
  kToU8,
  kToU32,
  // two: dst = f(a, b)
  kAdd,
  kAnd,
  kDivide,
  kGeluGrad,  // b * gelu'(a)
  kMaximum,
  kMinimum,
  kMultiply,
  kOr,
  kPower,
  kShiftRight,
  kSubtract,
  kXor,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  // three
  kMultiplyAdd,          // a * b + c
  kMultiplySubtract,     // a * b - c
  kNegativeMultiplyAdd,  // c - a * b
  kSelect,               // a ? b : c
};

// Element by element on lanes of one kind (those of the operands). Bit i of `scalars` says that
// operand i is one number for all. Null when there is no such instruction.
StepFunction find_map(Verb verb, Lane lane, unsigned scalars, CpuLevel level);

// dst = input by access, with conversion to lanes; and output = a, in place order.
StepFunction find_load(DType dtype, CpuLevel level);
StepFunction find_store(DType dtype, CpuLevel level);
// dst = where the access leads, as lanes of `dtype`.
StepFunction find_iota(DType dtype, CpuLevel level);
// dst = Philox words at the places where the access leads; a and b hold the key.
StepFunction find_random(CpuLevel level);
// dst (of the wider space) = a, repeated.
StepFunction find_spread(Space from, CpuLevel level);
// dst (one per row) = a, combined along each row; and an accumulator combined with a, at the
// places where the access leads.
StepFunction find_row_reduce(ReduceKind kind, Lane lane, CpuLevel level);
StepFunction find_accumulate(ReduceKind kind, Lane lane, CpuLevel level);

}  // namespace centavo::cpu
