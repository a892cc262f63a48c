// Vectors of floats from and to f32 and bf16 memory, and loops over them, for the one level that is
// being compiled. Loops take functions of (d, i): what to do with the elements from i on that a
// vector of tag d holds. They are called with whole vectors first, then with ever smaller ones.
#if defined(CENTAVO_KERNELS_VEC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CENTAVO_KERNELS_VEC_INL_H_
#undef CENTAVO_KERNELS_VEC_INL_H_
#else
#define CENTAVO_KERNELS_VEC_INL_H_
#endif

#include <algorithm>
#include <array>
#include <hwy/highway.h>
#include <limits>

#include "centavo/backend/cpu/tape/math-inl.h"
#include "centavo/base/bf16.h"

HWY_BEFORE_NAMESPACE();
namespace centavo::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using FloatVec = hn::Vec<Floats>;

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
template <class D>
HWY_INLINE void store(D d, hn::Vec<D> x, bf16* to) {
  const hn::Rebind<uint16_t, D> d16;
  const hn::RebindToUnsigned<D> d32;
  const auto bits = hn::BitCast(d32, round_to_bf16(d, x));
  const auto halves = hn::TruncateTo(d16, hn::ShiftRight<16>(bits));
  hn::StoreU(halves, d16, reinterpret_cast<uint16_t*>(to));
}

// Stores two neighbouring vectors, which is cheaper than one after the other.
HWY_INLINE void store_two(FloatVec a, FloatVec b, float* to) {
  const Floats d;
  hn::StoreU(a, d, to);
  hn::StoreU(b, d, to + hn::Lanes(d));
}
HWY_INLINE void store_two(FloatVec a, FloatVec b, bf16* to) {
  const Floats d;
#if HWY_TARGET == HWY_SCALAR
  store(d, a, to);
  store(d, b, to + 1);
#else
  // To nearest, ties to even, unless there may be a NaN: rounding must not make infinity of it.
  const hn::RebindToUnsigned<Floats> d32;
  auto rounded = [&](FloatVec x) HWY_ATTR {
    const auto bits = hn::BitCast(d32, x);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 1u));
    return hn::BitCast(d, hn::Add(bits, hn::Add(odd, hn::Set(d32, 0x7fffu))));
  };
  FloatVec upper_a = rounded(a), upper_b = rounded(b);
  const auto sum = hn::Add(a, b);
  if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Eq(sum, sum)))) {
    upper_a = round_to_bf16(d, a);
    upper_b = round_to_bf16(d, b);
  }
  const hn::Repartition<uint16_t, Floats> d16;
  const auto halves = hn::ConcatOdd(d16, hn::BitCast(d16, upper_b), hn::BitCast(d16, upper_a));
  hn::StoreU(halves, d16, reinterpret_cast<uint16_t*>(to));
#endif
}

// The elements [i, n), with vectors of kLanes floats and less.
template <size_t kLanes, class F>
HWY_INLINE void for_lanes_from(int64_t i, int64_t n, F& f) {
  const hn::CappedTag<float, kLanes> d;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  for (; i + step <= n; i += step) f(d, i);
  if constexpr (kLanes > 1) for_lanes_from<kLanes / 2>(i, n, f);
}

template <class F>
HWY_INLINE void for_lanes(int64_t n, F f) {
  for_lanes_from<hn::MaxLanes(Floats())>(0, n, f);
}

// to[i] = f(d, i)
template <class T, class F>
HWY_INLINE void map_lanes(int64_t n, T* to, F f) {
  const Floats d;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 2 * step <= n; i += 2 * step) store_two(f(d, i), f(d, i + step), to + i);
  auto single = [&](auto any, int64_t at) HWY_ATTR { store(any, f(any, at), to + at); };
  for_lanes_from<hn::MaxLanes(Floats())>(i, n, single);
}

// kSums sums over i at once: add(d, i, sums) adds to the vectors sums[0 ... kSums - 1]. The order
// depends on n and the vector's width only.
template <size_t kSums, class Add>
HWY_INLINE std::array<float, kSums> sum_lanes(int64_t n, Add add) {
  constexpr size_t kParts = kSums == 1 ? 4 : 2;  // chains of additions that do not wait for another
  const Floats d;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  FloatVec parts[kParts][kSums];
  for (auto& part : parts) std::fill_n(part, kSums, hn::Zero(d));
  int64_t i = 0;
  for (; i + static_cast<int64_t>(kParts) * step <= n;) {
    for (size_t p = 0; p < kParts; ++p, i += step) add(d, i, parts[p]);
  }
  for (; i + step <= n; i += step) add(d, i, parts[0]);
  std::array<float, kSums> totals;
  for (size_t s = 0; s < kSums; ++s) {
    for (size_t p = 1; p < kParts; ++p) parts[0][s] = hn::Add(parts[0][s], parts[p][s]);
    totals[s] = hn::GetLane(hn::SumOfLanes(d, parts[0][s]));
  }
  auto rest = [&](auto any, int64_t at) HWY_ATTR {
    hn::Vec<decltype(any)> sums[kSums];
    std::fill_n(sums, kSums, hn::Zero(any));
    add(any, at, sums);
    for (size_t s = 0; s < kSums; ++s) totals[s] += hn::GetLane(hn::SumOfLanes(any, sums[s]));
  };
  for_lanes_from<hn::MaxLanes(Floats())>(i, n, rest);
  return totals;
}

// The largest value(d, i).
template <class Value>
HWY_INLINE float max_lanes(int64_t n, Value value) {
  const Floats d;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  auto a = hn::Set(d, -std::numeric_limits<float>::infinity()), b = a;
  int64_t i = 0;
  for (; i + 2 * step <= n; i += 2 * step) {
    a = hn::Max(a, value(d, i));
    b = hn::Max(b, value(d, i + step));
  }
  float top = hn::GetLane(hn::MaxOfLanes(d, hn::Max(a, b)));
  auto rest = [&](auto any, int64_t at) HWY_ATTR {
    top = std::max(top, hn::GetLane(hn::MaxOfLanes(any, value(any, at))));
  };
  for_lanes_from<hn::MaxLanes(Floats())>(i, n, rest);
  return top;
}

}  // namespace centavo::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
