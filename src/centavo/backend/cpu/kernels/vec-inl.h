// Vectors of floats from and to f32 and bf16 memory, for the one level that is being compiled.
#if defined(CENTAVO_KERNELS_VEC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CENTAVO_KERNELS_VEC_INL_H_
#undef CENTAVO_KERNELS_VEC_INL_H_
#else
#define CENTAVO_KERNELS_VEC_INL_H_
#endif

#include <hwy/highway.h>

#include "centavo/base/bf16.h"

HWY_BEFORE_NAMESPACE();
namespace centavo::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const float* from) {
  return hn::LoadU(d, from);
}
template <class D>
HWY_INLINE hn::Vec<D> load(D d, const bf16* from) {
  const hn::Rebind<uint16_t, D> d16;
  const hn::RebindToUnsigned<D> d32;
  const auto bits = hn::LoadU(d16, reinterpret_cast<const uint16_t*>(from));
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, bits)));
}

template <class D>
HWY_INLINE void store(D d, hn::Vec<D> x, float* to) {
  hn::StoreU(x, d, to);
}
// Rounds to nearest, ties to even; a NaN stays a NaN.
template <class D>
HWY_INLINE void store(D /*d*/, hn::Vec<D> x, bf16* to) {
  const hn::Rebind<uint16_t, D> d16;
  const hn::RebindToUnsigned<D> d32;
  const auto bits = hn::BitCast(d32, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 1u));
  const auto up = hn::Add(bits, hn::Add(odd, hn::Set(d32, 0x7fffu)));
  const auto quiet = hn::Or(bits, hn::Set(d32, 0x400000u));
  const auto rounded = hn::IfThenElse(hn::RebindMask(d32, hn::Eq(x, x)), up, quiet);
  hn::StoreU(hn::TruncateTo(d16, hn::ShiftRight<16>(rounded)), d16,
             reinterpret_cast<uint16_t*>(to));
}

// Calls f(d, i) for i = 0, N, 2N, ... with full vectors, then one by one for the rest.
template <class F>
HWY_INLINE void for_lanes(int64_t n, F f) {
  const hn::ScalableTag<float> d;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + step <= n; i += step) f(d, i);
  const hn::CappedTag<float, 1> one;
  for (; i < n; ++i) f(one, i);
}

// The sum over i of value(d, i), in an order that depends on n and the vector's width only.
template <class Value>
HWY_INLINE float sum_lanes(int64_t n, Value value) {
  const hn::ScalableTag<float> d;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  auto a = hn::Zero(d), b = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * step <= n; i += 2 * step) {
    a = hn::Add(a, value(d, i));
    b = hn::Add(b, value(d, i + step));
  }
  for (; i + step <= n; i += step) a = hn::Add(a, value(d, i));
  float total = hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b)));
  const hn::CappedTag<float, 1> one;
  for (; i < n; ++i) total += hn::GetLane(value(one, i));
  return total;
}

}  // namespace centavo::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
