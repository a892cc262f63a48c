// The vector kernel behind fill_normal. Compiled once per instruction set (Highway), without
// contraction to fused multiply-adds, so that each set computes the same bits.
#include "centavo/data/normal.h"

#include <algorithm>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "centavo/data/normal.cpp"
#include <hwy/foreach_target.h>  // includes this file again for every target
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace centavo::data::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The order of numbers does not depend on the vector width: a tile is the 16 Philox blocks 16t ..
// 16t+15, and word w of block 16t+j becomes number 64t + 16w + j.
constexpr size_t kTileBlocks = 16;
constexpr size_t kTileNumbers = 4 * kTileBlocks;

using DF = hn::CappedTag<float, kTileBlocks>;
using DI = hn::RebindToSigned<DF>;
using DU = hn::RebindToUnsigned<DF>;
using DW = hn::RepartitionToWide<DU>;
using VF = hn::Vec<DF>;
using VU = hn::Vec<DU>;
using VW = hn::Vec<DW>;

struct Words {
  VW w0, w1, w2, w3;
};

// Ten rounds on as many blocks as VW has lanes. Each 64-bit lane holds a 32-bit word in its low
// half and anything in its high half: the multiplications read the low halves alone, so nothing
// needs masking between rounds.
HWY_INLINE Words philox(VW block, uint64_t seed, uint64_t stream) {
  const DW dw;
  const DU du;
  const VU m0 = hn::Set(du, 0xD2511F53u), m1 = hn::Set(du, 0xCD9E8D57u);
  VW k0 = hn::Set(dw, seed), k1 = hn::Set(dw, seed >> 32);
  const VW step0 = hn::Set(dw, 0x9E3779B9u), step1 = hn::Set(dw, 0xBB67AE85u);
  Words c{block, hn::ShiftRight<32>(block), hn::Set(dw, stream), hn::Set(dw, stream >> 32)};
  for (int round = 0; round < 10; ++round) {
    const VW p0 = hn::MulEven(hn::BitCast(du, c.w0), m0);
    const VW p1 = hn::MulEven(hn::BitCast(du, c.w2), m1);
    c = {hn::Xor3(hn::ShiftRight<32>(p1), c.w1, k0), p1, hn::Xor3(hn::ShiftRight<32>(p0), c.w3, k1),
         p0};
    k0 = hn::Add(k0, step0);
    k1 = hn::Add(k1, step1);
  }
  return c;
}

HWY_INLINE VU interleave(VW even, VW odd) {
  const DU du;
  return hn::OddEven(hn::BitCast(du, hn::ShiftLeft<32>(odd)), hn::BitCast(du, even));
}

template <size_t kDegree>
HWY_INLINE VF polynomial(VF x, const float (&c)[kDegree]) {
  const DF df;
  VF y = hn::Set(df, c[kDegree - 1]);
  for (size_t i = kDegree - 1; i-- > 0;) y = hn::Add(hn::Mul(y, x), hn::Set(df, c[i]));
  return y;
}

// sqrt(-2 ln u) for u = (w + 1/2) / 2^32, w a word without its last bit. The logarithm's relative
// error is below 4e-7: ln(1+f) = f + f^2 P(f) on [sqrt(1/2) - 1, sqrt(2) - 1], P by a minimax fit.
HWY_INLINE VF radius(VU word) {
  static constexpr float kP[] = {-0.50000322f, 0.33334714f, -0.24971229f, 0.19906883f,
                                 -0.17243224f, 0.16180500f, -0.10082377f};
  const DF df;
  const DI di;
  const VF whole = hn::ConvertTo(df, hn::BitCast(di, hn::ShiftRight<1>(word)));
  const VF u = hn::Add(hn::Mul(whole, hn::Set(df, 0x1p-31f)), hn::Set(df, 0x1p-32f));
  const auto bits = hn::BitCast(di, u);
  const auto exponent = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3f3504f3)));  // of sqrt(1/2)
  const VF m = hn::BitCast(df, hn::Sub(bits, hn::ShiftLeft<23>(exponent)));
  const VF f = hn::Sub(m, hn::Set(df, 1.0f));
  const VF log_m = hn::Add(f, hn::Mul(hn::Mul(f, f), polynomial(f, kP)));
  const VF log_u = hn::Add(hn::Mul(hn::ConvertTo(df, exponent), hn::Set(df, 0.69314718f)), log_m);
  return hn::Sqrt(hn::Mul(log_u, hn::Set(df, -2.0f)));
}

// A point on the circle of that radius: an angle uniform in [-pi/4, pi/4) from the word, then a
// reflection on the diagonal and one through the centre by its two last bits.
HWY_INLINE void circle(VU word, VF r, VF& x, VF& y) {
  static constexpr float kSin[] = {-0.16666655f, 0.0083321780f, -0.00019517297f};
  static constexpr float kCos[] = {0.041661277f, -0.0013652450f};
  const DF df;
  const DI di;
  const DU du;
  const VF a =
      hn::Mul(hn::ConvertTo(df, hn::BitCast(di, word)), hn::Set(df, 0.78539816f * 0x1p-31f));
  const VF z = hn::Mul(a, a);
  const VF s = hn::Add(a, hn::Mul(hn::Mul(a, z), polynomial(z, kSin)));
  const VF c = hn::Add(hn::Sub(hn::Set(df, 1.0f), hn::Mul(z, hn::Set(df, 0.5f))),
                       hn::Mul(hn::Mul(z, z), polynomial(z, kCos)));
  // The shift leaves nothing but the last bit, as a sign.
  const VF signed_r = hn::Xor(r, hn::BitCast(df, hn::ShiftLeft<31>(word)));
  const auto swap = hn::RebindMask(df, hn::TestBit(word, hn::Set(du, 2u)));
  x = hn::Mul(signed_r, hn::IfThenElse(swap, s, c));
  y = hn::Mul(signed_r, hn::IfThenElse(swap, c, s));
}

HWY_INLINE void store(VF v, float* out) {
  hn::StoreU(v, DF(), out);
}
HWY_INLINE void store(VF v, bf16* out) {
  const DU du;
  const hn::Rebind<uint16_t, DU> dh;
  const VU bits = hn::BitCast(du, v);
  const VU odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));  // ties go to even
  const VU rounded = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fffu)));
  hn::StoreU(hn::TruncateTo(dh, hn::ShiftRight<16>(rounded)), dh, reinterpret_cast<uint16_t*>(out));
}

template <class T>
HWY_INLINE void fill_tile(uint64_t tile, uint64_t seed, uint64_t stream, T* out) {
  const DW dw;
  for (size_t j = 0; j < kTileBlocks; j += hn::Lanes(DF())) {
    const VW even = hn::Add(hn::ShiftLeft<1>(hn::Iota(dw, 0)), hn::Set(dw, tile * kTileBlocks + j));
    const Words a = philox(even, seed, stream);
    const Words b = philox(hn::Add(even, hn::Set(dw, 1)), seed, stream);
    VF x, y;
    circle(interleave(a.w1, b.w1), radius(interleave(a.w0, b.w0)), x, y);
    store(x, out + j);
    store(y, out + kTileBlocks + j);
    circle(interleave(a.w3, b.w3), radius(interleave(a.w2, b.w2)), x, y);
    store(x, out + 2 * kTileBlocks + j);
    store(y, out + 3 * kTileBlocks + j);
  }
}

template <class T>
void fill(T* out, size_t count, uint64_t seed, uint64_t stream) {
  const size_t tiles = count / kTileNumbers, rest = count % kTileNumbers;
  for (size_t t = 0; t < tiles; ++t) fill_tile(t, seed, stream, out + t * kTileNumbers);
  if (rest == 0) return;
  T last[kTileNumbers];
  fill_tile(tiles, seed, stream, last);
  std::copy_n(last, rest, out + tiles * kTileNumbers);
}

void fill_f32(float* out, size_t count, uint64_t seed, uint64_t stream) {
  fill(out, count, seed, stream);
}
void fill_bf16(bf16* out, size_t count, uint64_t seed, uint64_t stream) {
  fill(out, count, seed, stream);
}

}  // namespace centavo::data::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace centavo::data {

HWY_EXPORT(fill_f32);
HWY_EXPORT(fill_bf16);

void fill_normal(std::span<float> out, uint64_t seed, uint64_t stream) {
  HWY_DYNAMIC_DISPATCH(fill_f32)(out.data(), out.size(), seed, stream);
}
void fill_normal(std::span<bf16> out, uint64_t seed, uint64_t stream) {
  HWY_DYNAMIC_DISPATCH(fill_bf16)(out.data(), out.size(), seed, stream);
}

}  // namespace centavo::data
#endif
