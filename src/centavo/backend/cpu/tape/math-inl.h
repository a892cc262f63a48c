// Transcendental functions on vectors of floats, for the one level that is being compiled. Rational
// approximations are minimax fits (differential correction in double, errors measured in fp32).
#if defined(CENTAVO_TAPE_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CENTAVO_TAPE_MATH_INL_H_
#undef CENTAVO_TAPE_MATH_INL_H_
#else
#define CENTAVO_TAPE_MATH_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace centavo::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// coefficients[0] + t (coefficients[1] + ...).
template <class D, class V = hn::Vec<D>, size_t kCount>
HWY_INLINE V polynomial(D d, V t, const float (&coefficients)[kCount]) {
  V sum = hn::Set(d, coefficients[kCount - 1]);
  for (size_t i = kCount - 1; i-- > 0;) sum = hn::MulAdd(sum, t, hn::Set(d, coefficients[i]));
  return sum;
}

// x, or the nearer end of [low, high]; a NaN stays.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V clamp(D d, V x, float low, float high) {
  const V bounded = hn::Max(hn::Set(d, low), hn::Min(hn::Set(d, high), x));
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  return bounded;  // min and max return their second operand when one is a NaN
#else
  return hn::IfThenElse(hn::Eq(x, x), bounded, x);
#endif
}

// An odd function that is flat beyond `limit`: x P(x^2) / Q(x^2).
template <class D, class V = hn::Vec<D>, size_t kP, size_t kQ>
HWY_INLINE V odd_rational(D d, V x, float limit, const float (&p)[kP], const float (&q)[kQ]) {
  const V c = clamp(d, x, -limit, limit), t = hn::Mul(c, c);
  return hn::Div(hn::Mul(c, polynomial(d, t, p)), polynomial(d, t, q));
}

// e^x, within 2 ulp; results below 2^-126 become zero.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp(D d, V x) {
  constexpr float kLog2E = 1.44269504f;
  // ln 2 in two parts, the first with 9 trailing zero bits.
  constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  static constexpr float kP[] = {1.0f,         1.0f,          0.49999994f,  0.16666521f,
                                 0.041668389f, 0.0083687147f, 0.0013814595f};
  const V bounded = clamp(d, x, -104.0f, 89.0f);
  const V n = hn::Round(hn::Mul(bounded, hn::Set(d, kLog2E)));
  V r = hn::NegMulAdd(n, hn::Set(d, kLn2High), bounded);
  r = hn::NegMulAdd(n, hn::Set(d, kLn2Low), r);
  const V p = polynomial(d, r, kP);
#if HWY_TARGET == HWY_AVX3
  if constexpr (hn::MaxLanes(D()) == 16) return V{_mm512_scalef_ps(p.raw, n.raw)};
#endif
  // 2^n in two factors, since n may be 128; what is smaller than the smallest normal is dropped.
  const hn::RebindToSigned<D> di;
  const auto whole = hn::ConvertTo(di, n);
  const auto half = hn::ShiftRight<1>(whole);
  auto power = [&](auto e) HWY_ATTR {
    return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(e, hn::Set(di, 127))));
  };
  const V scaled = hn::Mul(hn::Mul(p, power(half)), power(hn::Sub(whole, half)));
  return hn::IfThenZeroElse(hn::Lt(n, hn::Set(d, -126.0f)), scaled);
}

// 1 / (1 + e^-x)
template <class D, class V = hn::Vec<D>>
HWY_INLINE V logistic(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, exp(d, hn::Neg(x))));
}

// Relative error below 4e-7.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V erf(D d, V x) {
  static constexpr float kP[] = {1.1283791065216064f,     0.1902608722448349f,
                                 0.05265955254435539f,    0.0037404182367026806f,
                                 0.00028103680233471096f, 2.0078548459423473e-06f};
  static constexpr float kQ[] = {1.0f,
                                 0.5019474625587463f,
                                 0.11398538202047348f,
                                 0.01492121908813715f,
                                 0.0011503315763548017f,
                                 3.745403955690563e-05f};
  return clamp(d, odd_rational(d, x, 4.0f, kP, kQ), -1.0f, 1.0f);
}

// Relative error below 4e-7.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V tanh(D d, V x) {
  static constexpr float kP[] = {0.9999999403953552f, 0.13372743129730225f, 0.0034845939371734858f,
                                 2.0379875422804616e-05f, 1.2947694472131843e-08f};
  static constexpr float kQ[] = {1.0f, 0.46706077456474304f, 0.025838205590844154f,
                                 0.00032655755057930946f, 7.628726734765223e-07f};
  return clamp(d, odd_rational(d, x, 9.0f, kP, kQ), -1.0f, 1.0f);
}

// x Phi(x). Phi, the normal distribution function, is 1/2 + an odd function, with an absolute error
// below 2e-7; below -5.5 it is zero.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V gelu(D d, V x) {
  static constexpr float kP[] = {0.39894217252731323f,    0.03511553630232811f,
                                 0.004455333109945059f,   0.0001615694782231003f,
                                 3.1273532385966973e-06f, -2.18115712158351e-08f,
                                 1.1195289140175646e-10f};
  static constexpr float kQ[] = {1.0f, 0.2546868622303009f, 0.028618397191166878f,
                                 0.00178120331838727f, 5.922290438320488e-05f};
  const V phi = hn::Add(odd_rational(d, x, 5.5f, kP, kQ), hn::Set(d, 0.5f));
  return hn::Mul(x, hn::Max(hn::Zero(d), phi));
}

// Phi(x) + x Phi'(x), the derivative of gelu: 1/2 + an odd function. Absolute error below 3e-7.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V gelu_slope(D d, V x) {
  static constexpr float kP[] = {0.7978842258453369f,    -0.049163736402988434f,
                                 0.01475826371461153f,   -0.00027033439255319536f,
                                 3.103879498667084e-05f, -3.1544269063488173e-07f,
                                 4.867941161279532e-09f, -2.7076934444592027e-11f};
  static constexpr float kQ[] = {1.0f,
                                 0.27171432971954346f,
                                 0.03407096490263939f,
                                 0.0025415949057787657f,
                                 0.00012018387496937066f,
                                 3.1345730349130463e-06f};
  return hn::Add(odd_rational(d, x, 5.8f, kP, kQ), hn::Set(d, 0.5f));
}

// A NaN in either operand is the result.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V max_or_nan(D, V a, V b) {
  const V larger = hn::IfThenElse(hn::Eq(a, a), hn::Max(a, b), a);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  return larger;  // max returns its second operand when one is a NaN
#else
  return hn::IfThenElse(hn::Eq(b, b), larger, b);
#endif
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V min_or_nan(D d, V a, V b) {
  return hn::Neg(max_or_nan(d, hn::Neg(a), hn::Neg(b)));
}

// Nearest bf16, ties to even, still as float; a NaN stays a NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V round_to_bf16(D d, V x) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
  const auto up = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fffu)));
  const auto quiet = hn::Or(bits, hn::Set(du, 0x400000u));
  const auto rounded = hn::IfThenElse(hn::RebindMask(du, hn::Eq(x, x)), up, quiet);
  return hn::BitCast(d, hn::And(rounded, hn::Set(du, 0xffff0000u)));
}

}  // namespace centavo::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
