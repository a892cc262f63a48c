// The element-by-element instructions. Operands and results are registers, or inputs and outputs
// that lie in memory as registers do, so the last vector must not reach beyond the tile.
#include <cmath>
#include <cstring>

#include "centavo/backend/cpu/tape/steps.h"

// Levels between the baseline and AVX2 have no use here.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "centavo/backend/cpu/tape/map_steps.cpp"
// clang-format off
#include <hwy/foreach_target.h>  // before all else of Highway
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
#include "centavo/backend/cpu/tape/math-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace centavo::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using I32 = hn::ScalableTag<int32_t>;
using U32 = hn::ScalableTag<uint32_t>;

// A register operand: a vector at a time, or one number for all.
template <class D, bool kScalar>
class Operand {
 public:
  using T = hn::TFromD<D>;
  HWY_INLINE Operand(const Tile& tile, uint16_t reg)
      : data_(reinterpret_cast<const T*>(tile.registers[reg])),
        all_(hn::Set(D(), kScalar ? *data_ : T{})) {}
  HWY_INLINE hn::Vec<D> load(size_t i) const { return kScalar ? all_ : hn::LoadU(D(), data_ + i); }
  HWY_INLINE hn::Vec<D> load_first(size_t i, size_t count) const {
    if (kScalar) return all_;
    HWY_ALIGN T last[hn::MaxLanes(D())] = {};
    std::memcpy(last, data_ + i, count * sizeof(T));
    return hn::Load(D(), last);
  }

 private:
  const T* data_;
  hn::Vec<D> all_;
};

template <class D, class F, class... Operands>
HWY_INLINE void map(const Step& step, const Tile& tile, F f, const Operands&... operands) {
  using T = hn::TFromD<D>;
  const D d;
  auto* out = reinterpret_cast<T*>(tile.registers[step.dst]);
  const auto n = static_cast<size_t>(tile.counts[static_cast<size_t>(step.space)]);
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(operands.load(i)...), d, out + i);
  if (i < n) {
    HWY_ALIGN T last[hn::MaxLanes(D())];
    hn::Store(f(operands.load_first(i, n - i)...), d, last);
    std::memcpy(out + i, last, (n - i) * sizeof(T));
  }
}

// F maps vectors of In to a vector of Out; the bits of `scalars` become template arguments.
template <class In, class Out, class F, bool kA, bool kB>
void map2(const Step& step, const Tile& tile) {
  map<Out>(step, tile, F(), Operand<In, kA>(tile, step.a), Operand<In, kB>(tile, step.b));
}
template <class In, class Out, class F, bool kA, bool kB, bool kC>
void map3(const Step& step, const Tile& tile) {
  map<Out>(step, tile, F(), Operand<In, kA>(tile, step.a), Operand<In, kB>(tile, step.b),
           Operand<In, kC>(tile, step.c));
}
template <class In, class Out, class F>
StepFunction unary(unsigned scalars, F) {
  if (scalars != 0) return nullptr;
  return [](const Step& step, const Tile& tile)
             HWY_ATTR { map<Out>(step, tile, F(), Operand<In, false>(tile, step.a)); };
}
template <class In, class Out, class F>
StepFunction binary(unsigned scalars, F) {
  constexpr StepFunction kAll[] = {map2<In, Out, F, false, false>, map2<In, Out, F, true, false>,
                                   map2<In, Out, F, false, true>};
  return scalars < 3 ? kAll[scalars] : nullptr;
}
template <class D, class F>
StepFunction ternary(unsigned scalars, F) {
  constexpr StepFunction kAll[] = {
      map3<D, D, F, false, false, false>, map3<D, D, F, true, false, false>,
      map3<D, D, F, false, true, false>,  map3<D, D, F, true, true, false>,
      map3<D, D, F, false, false, true>,  map3<D, D, F, true, false, true>,
      map3<D, D, F, false, true, true>};
  return scalars < 7 ? kAll[scalars] : nullptr;
}

// Rare operations, one number at a time.
template <class T, class F, bool kA, bool kB>
void plain2(const Step& step, const Tile& tile) {
  const auto* a = reinterpret_cast<const T*>(tile.registers[step.a]);
  const auto* b = reinterpret_cast<const T*>(tile.registers[step.b]);
  auto* out = reinterpret_cast<T*>(tile.registers[step.dst]);
  const int64_t n = tile.counts[static_cast<size_t>(step.space)];
  for (int64_t i = 0; i < n; ++i) out[i] = F()(a[kA ? 0 : i], b[kB ? 0 : i]);
}
template <class T, class F>
StepFunction plain_binary(unsigned scalars, F) {
  constexpr StepFunction kAll[] = {plain2<T, F, false, false>, plain2<T, F, true, false>,
                                   plain2<T, F, false, true>};
  return scalars < 3 ? kAll[scalars] : nullptr;
}

template <class D, class M = hn::Mask<D>>
HWY_INLINE hn::Vec<U32> lanes_of(D, M mask) {
  return hn::VecFromMask(U32(), hn::RebindMask(U32(), mask));
}

// Bits that mean the same whatever the lanes.
StepFunction find_bits(Verb verb, unsigned scalars) {
  switch (verb) {
    case Verb::kNot:
      return unary<U32, U32>(scalars, [](auto a) HWY_ATTR { return hn::Not(a); });
    case Verb::kAnd:
      return binary<U32, U32>(scalars, [](auto a, auto b) HWY_ATTR { return hn::And(a, b); });
    case Verb::kOr:
      return binary<U32, U32>(scalars, [](auto a, auto b) HWY_ATTR { return hn::Or(a, b); });
    case Verb::kXor:
      return binary<U32, U32>(scalars, [](auto a, auto b) HWY_ATTR { return hn::Xor(a, b); });
    default:
      return nullptr;
  }
}
StepFunction same_bits(unsigned scalars) {
  return unary<U32, U32>(scalars, [](auto a) HWY_ATTR { return a; });
}

// a <= b; integers have no such instruction.
template <class D, class V = hn::Vec<D>>
HWY_INLINE hn::Mask<D> not_greater(D, V a, V b) {
  if constexpr (hwy::IsFloat<hn::TFromD<D>>())
    return hn::Le(a, b);
  else
    return hn::Not(hn::Gt(a, b));
}

template <class D>
StepFunction find_comparison(Verb verb, unsigned scalars) {
  switch (verb) {
    case Verb::kEqual:
      return binary<D, U32>(scalars,
                            [](auto a, auto b) HWY_ATTR { return lanes_of(D(), hn::Eq(a, b)); });
    case Verb::kNotEqual:  // on x86 hn::Ne is false where either is NaN
      return binary<D, U32>(
          scalars, [](auto a, auto b) HWY_ATTR { return lanes_of(D(), hn::Not(hn::Eq(a, b))); });
    case Verb::kLess:
      return binary<D, U32>(scalars,
                            [](auto a, auto b) HWY_ATTR { return lanes_of(D(), hn::Lt(a, b)); });
    case Verb::kGreater:
      return binary<D, U32>(scalars,
                            [](auto a, auto b) HWY_ATTR { return lanes_of(D(), hn::Lt(b, a)); });
    case Verb::kLessEqual:
      return binary<D, U32>(
          scalars, [](auto a, auto b) HWY_ATTR { return lanes_of(D(), not_greater(D(), a, b)); });
    case Verb::kGreaterEqual:
      return binary<D, U32>(
          scalars, [](auto a, auto b) HWY_ATTR { return lanes_of(D(), not_greater(D(), b, a)); });
    default:
      return nullptr;
  }
}

// -- fp32

HWY_INLINE hn::Vec<F32> sign_of(hn::Vec<F32> x) {
  const F32 d;
  const auto one = hn::CopySign(hn::Set(d, 1.0f), x);
  return hn::IfThenElse(hn::Gt(hn::Abs(x), hn::Zero(d)), one, x);  // zeros and NaNs stay
}

// Larger ones than an i32 holds have their top bit taken off before and put back after.
HWY_INLINE hn::Vec<U32> to_u32(hn::Vec<F32> x) {
  const auto half = hn::Set(F32(), 0x1p31f);
  const auto large = hn::Ge(x, half);
  const auto whole = hn::ConvertTo(I32(), hn::IfThenElse(large, hn::Sub(x, half), x));
  const auto top = hn::IfThenElseZero(hn::RebindMask(U32(), large), hn::Set(U32(), 0x80000000u));
  return hn::Xor(hn::BitCast(U32(), whole), top);
}

StepFunction find_float_conversion(Verb verb, unsigned scalars) {
  switch (verb) {
    case Verb::kRoundToBf16:
      return unary<F32, F32>(scalars, [](auto a) HWY_ATTR { return round_to_bf16(F32(), a); });
    case Verb::kIsFinite:
      return unary<F32, U32>(scalars,
                             [](auto a) HWY_ATTR { return lanes_of(F32(), hn::IsFinite(a)); });
    case Verb::kToBool:
      return unary<F32, U32>(
          scalars, [](auto a) HWY_ATTR { return lanes_of(F32(), hn::Ne(a, hn::Zero(F32()))); });
    case Verb::kToF32:
      return same_bits(scalars);
    case Verb::kToI32:
      return unary<F32, I32>(scalars, [](auto a) HWY_ATTR { return hn::ConvertTo(I32(), a); });
    case Verb::kToU32:
      return unary<F32, U32>(scalars, [](auto a) HWY_ATTR { return to_u32(a); });
    case Verb::kToI8:
      return unary<F32, I32>(scalars, [](auto a) HWY_ATTR {
        return hn::ShiftRight<24>(hn::ShiftLeft<24>(hn::ConvertTo(I32(), a)));
      });
    case Verb::kToU8:
      return unary<F32, I32>(scalars, [](auto a) HWY_ATTR {
        return hn::And(hn::ConvertTo(I32(), a), hn::Set(I32(), 255));
      });
    default:
      return nullptr;
  }
}

// Highway's logarithm of what has none is a number.
HWY_INLINE hn::Vec<F32> log(hn::Vec<F32> x) {
  const F32 d;
  const auto infinity = hn::Inf(d);
  const auto positive = hn::IfThenElse(hn::Eq(x, infinity), x, hn::Log(d, x));
  const auto defined = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity), positive);
  return hn::IfThenElse(hn::Ge(x, hn::Zero(d)), defined, hn::NaN(d));
}
// An infinity has no sine.
HWY_INLINE hn::Vec<F32> finite_or_nan(hn::Vec<F32> x) {
  const F32 d;
  return hn::IfThenElse(hn::Eq(hn::Abs(x), hn::Inf(d)), hn::NaN(d), x);
}

StepFunction find_float_unary(Verb verb, unsigned scalars) {
  switch (verb) {
    case Verb::kAbs:
      return unary<F32, F32>(scalars, [](auto a) HWY_ATTR { return hn::Abs(a); });
    case Verb::kCeil:
      return unary<F32, F32>(scalars, [](auto a) HWY_ATTR { return hn::Ceil(a); });
    case Verb::kCos:
      return unary<F32, F32>(scalars,
                             [](auto a) HWY_ATTR { return hn::Cos(F32(), finite_or_nan(a)); });
    case Verb::kErf:
      return unary<F32, F32>(scalars, [](auto a) HWY_ATTR { return erf(F32(), a); });
    case Verb::kExp:
      return unary<F32, F32>(scalars, [](auto a) HWY_ATTR { return exp(F32(), a); });
    case Verb::kFloor:
      return unary<F32, F32>(scalars, [](auto a) HWY_ATTR { return hn::Floor(a); });
    case Verb::kGelu:
      return unary<F32, F32>(scalars, [](auto a) HWY_ATTR { return gelu(F32(), a); });
    case Verb::kLog:
      return unary<F32, F32>(scalars, [](auto a) HWY_ATTR { return log(a); });
    case Verb::kLogistic:
      return unary<F32, F32>(scalars, [](auto a) HWY_ATTR { return logistic(F32(), a); });
    case Verb::kNegate:
      return unary<F32, F32>(scalars, [](auto a) HWY_ATTR { return hn::Neg(a); });
    case Verb::kReciprocal:
      return unary<F32, F32>(scalars,
                             [](auto a) HWY_ATTR { return hn::Div(hn::Set(F32(), 1.0f), a); });
    case Verb::kRsqrt:
      return unary<F32, F32>(
          scalars, [](auto a) HWY_ATTR { return hn::Div(hn::Set(F32(), 1.0f), hn::Sqrt(a)); });
    case Verb::kSign:
      return unary<F32, F32>(scalars, [](auto a) HWY_ATTR { return sign_of(a); });
    case Verb::kSin:
      return unary<F32, F32>(scalars,
                             [](auto a) HWY_ATTR { return hn::Sin(F32(), finite_or_nan(a)); });
    case Verb::kSqrt:
      return unary<F32, F32>(scalars, [](auto a) HWY_ATTR { return hn::Sqrt(a); });
    case Verb::kTanh:
      return unary<F32, F32>(scalars, [](auto a) HWY_ATTR { return tanh(F32(), a); });
    default:
      return find_float_conversion(verb, scalars);
  }
}

StepFunction find_float(Verb verb, unsigned scalars) {
  switch (verb) {
    case Verb::kAdd:
      return binary<F32, F32>(scalars, [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
    case Verb::kSubtract:
      return binary<F32, F32>(scalars, [](auto a, auto b) HWY_ATTR { return hn::Sub(a, b); });
    case Verb::kMultiply:
      return binary<F32, F32>(scalars, [](auto a, auto b) HWY_ATTR { return hn::Mul(a, b); });
    case Verb::kDivide:
      return binary<F32, F32>(scalars, [](auto a, auto b) HWY_ATTR { return hn::Div(a, b); });
    case Verb::kMaximum:
      return binary<F32, F32>(scalars,
                              [](auto a, auto b) HWY_ATTR { return max_or_nan(F32(), a, b); });
    case Verb::kMinimum:
      return binary<F32, F32>(scalars,
                              [](auto a, auto b) HWY_ATTR { return min_or_nan(F32(), a, b); });
    case Verb::kPower:
      return plain_binary<float>(scalars, [](float a, float b) { return std::pow(a, b); });
    case Verb::kGeluGrad:
      return binary<F32, F32>(
          scalars, [](auto a, auto b) HWY_ATTR { return hn::Mul(b, gelu_slope(F32(), a)); });
    case Verb::kMultiplyAdd:
      return ternary<F32>(scalars,
                          [](auto a, auto b, auto c) HWY_ATTR { return hn::MulAdd(a, b, c); });
    case Verb::kMultiplySubtract:
      return ternary<F32>(scalars,
                          [](auto a, auto b, auto c) HWY_ATTR { return hn::MulSub(a, b, c); });
    case Verb::kNegativeMultiplyAdd:
      return ternary<F32>(scalars,
                          [](auto a, auto b, auto c) HWY_ATTR { return hn::NegMulAdd(a, b, c); });
    default:
      if (StepFunction found = find_float_unary(verb, scalars)) return found;
      return find_comparison<F32>(verb, scalars);
  }
}

// -- integers and bools

// Instructions that are the same for i32 and u32.
StepFunction find_wrapping(Verb verb, unsigned scalars) {
  switch (verb) {
    case Verb::kAdd:
      return binary<I32, I32>(scalars, [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
    case Verb::kSubtract:
      return binary<I32, I32>(scalars, [](auto a, auto b) HWY_ATTR { return hn::Sub(a, b); });
    case Verb::kMultiply:
      return binary<I32, I32>(scalars, [](auto a, auto b) HWY_ATTR { return hn::Mul(a, b); });
    case Verb::kNegate:
      return unary<I32, I32>(scalars, [](auto a) HWY_ATTR { return hn::Neg(a); });
    case Verb::kToBool:
      return unary<I32, U32>(
          scalars, [](auto a) HWY_ATTR { return lanes_of(I32(), hn::Ne(a, hn::Zero(I32()))); });
    case Verb::kToI8:
      return unary<I32, I32>(
          scalars, [](auto a) HWY_ATTR { return hn::ShiftRight<24>(hn::ShiftLeft<24>(a)); });
    case Verb::kToU8:
      return unary<I32, I32>(scalars,
                             [](auto a) HWY_ATTR { return hn::And(a, hn::Set(I32(), 255)); });
    case Verb::kToI32:
    case Verb::kToU32:
      return same_bits(scalars);
    default:
      return find_bits(verb, scalars);
  }
}

template <class D>
StepFunction find_int(Verb verb, unsigned scalars) {
  using T = hn::TFromD<D>;
  switch (verb) {
    case Verb::kMaximum:
      return binary<D, D>(scalars, [](auto a, auto b) HWY_ATTR { return hn::Max(a, b); });
    case Verb::kMinimum:
      return binary<D, D>(scalars, [](auto a, auto b) HWY_ATTR { return hn::Min(a, b); });
    case Verb::kDivide:  // x / 0 is -1, as ops/binary.cpp has it
      return plain_binary<T>(scalars, [](T a, T b) {
        return static_cast<T>(b == 0 ? -1 : static_cast<int64_t>(a) / static_cast<int64_t>(b));
      });
    default:
      if (StepFunction found = find_wrapping(verb, scalars)) return found;
      return find_comparison<D>(verb, scalars);
  }
}

StepFunction find_i32(Verb verb, unsigned scalars) {
  switch (verb) {
    case Verb::kAbs:
      return unary<I32, I32>(scalars, [](auto a) HWY_ATTR { return hn::Abs(a); });
    case Verb::kToF32:
      return unary<I32, F32>(scalars, [](auto a) HWY_ATTR { return hn::ConvertTo(F32(), a); });
    default:
      return find_int<I32>(verb, scalars);
  }
}

// The halves of a word are exact; their sum is rounded once.
HWY_INLINE hn::Vec<F32> from_u32(hn::Vec<U32> x) {
  const auto high = hn::ConvertTo(F32(), hn::BitCast(I32(), hn::ShiftRight<16>(x)));
  const auto low = hn::ConvertTo(F32(), hn::BitCast(I32(), hn::And(x, hn::Set(U32(), 0xffffu))));
  return hn::MulAdd(high, hn::Set(F32(), 65536.0f), low);
}

StepFunction find_u32(Verb verb, unsigned scalars) {
  switch (verb) {
    case Verb::kAbs:
      return same_bits(scalars);
    case Verb::kToF32:
      return unary<U32, F32>(scalars, [](auto a) HWY_ATTR { return from_u32(a); });
    case Verb::kShiftRight:
      return binary<U32, U32>(scalars, [](auto a, auto b) HWY_ATTR {
        const auto shifted = hn::Shr(a, hn::And(b, hn::Set(U32(), 31u)));
        return hn::IfThenElseZero(hn::Lt(b, hn::Set(U32(), 32u)), shifted);
      });
    default:
      return find_int<U32>(verb, scalars);
  }
}

StepFunction find_bool(Verb verb, unsigned scalars) {
  switch (verb) {
    case Verb::kSelect:
      return ternary<U32>(
          scalars, [](auto a, auto b, auto c) HWY_ATTR { return hn::IfVecThenElse(a, b, c); });
    case Verb::kToBool:
      return same_bits(scalars);
    case Verb::kToF32:
      return unary<U32, F32>(scalars, [](auto a) HWY_ATTR {
        return hn::BitCast(F32(), hn::And(a, hn::BitCast(U32(), hn::Set(F32(), 1.0f))));
      });
    case Verb::kToI8:
    case Verb::kToI32:
    case Verb::kToU8:
    case Verb::kToU32:
      return unary<U32, U32>(scalars,
                             [](auto a) HWY_ATTR { return hn::And(a, hn::Set(U32(), 1u)); });
    case Verb::kEqual:
    case Verb::kNotEqual:
      return find_comparison<U32>(verb, scalars);
    default:
      return find_bits(verb, scalars);
  }
}

}  // namespace

StepFunction find_map_here(Verb verb, Lane lane, unsigned scalars) {
  switch (lane) {
    case Lane::kF32:
      return find_float(verb, scalars);
    case Lane::kI32:
      return find_i32(verb, scalars);
    case Lane::kU32:
      return find_u32(verb, scalars);
    case Lane::kBool:
      return find_bool(verb, scalars);
    case Lane::kI8:
    case Lane::kU8:
      break;
  }
  // Bytes are read, converted and compared; their arithmetic would have to wrap.
  const bool fits = (verb >= Verb::kToBool && verb <= Verb::kToU32) ||
                    (verb >= Verb::kEqual && verb <= Verb::kGreaterEqual);
  return fits ? find_i32(verb, scalars) : nullptr;
}

}  // namespace centavo::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "centavo/backend/cpu/levels.h"

namespace centavo::cpu {

StepFunction find_map(Verb verb, Lane lane, unsigned scalars, CpuLevel level) {
  return CENTAVO_AT_LEVEL(level, find_map_here)(verb, lane, scalars);
}

}  // namespace centavo::cpu
#endif
