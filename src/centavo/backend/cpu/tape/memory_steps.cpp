// The instructions that move data between memory and registers, repeat values along rows, and
// reduce them. Accesses are walked in runs of one stride: contiguous and repeated ones are fast.
#include <algorithm>
#include <cstring>
#include <limits>

#include "centavo/backend/cpu/tape/steps.h"
#include "centavo/base/bf16.h"
#include "centavo/base/philox.h"

// Levels between the baseline and AVX2 have no use here.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "centavo/backend/cpu/tape/memory_steps.cpp"
// clang-format off
#include <hwy/foreach_target.h>  // before all else of Highway
#include <hwy/highway.h>
#include "centavo/backend/cpu/tape/math-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace centavo::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using I32 = hn::ScalableTag<int32_t>;
using U32 = hn::ScalableTag<uint32_t>;

template <class T>
T* register_of(const Tile& tile, uint16_t reg) {
  return reinterpret_cast<T*>(tile.registers[reg]);
}
int64_t count_of(const Step& step, const Tile& tile) {
  return tile.counts[static_cast<size_t>(step.space)];
}

// The digits of a step's number, counting on from `begin`.
class Odometer {
 public:
  Odometer(const Access& access, int64_t begin) : access_(access) { set(begin); }

  int64_t element() const { return element_ + first_ * inner_.stride; }
  int64_t stride() const { return inner_.stride; }
  // Steps left before an outer digit changes.
  int64_t left() const { return inner_.extent - first_; }
  void next_run() {
    first_ = 0;
    count_outer();
  }
  // `pitch` steps on from where counting began, at step `begin`.
  void next_row(int64_t pitch, int64_t begin) {
    if (pitch == inner_.extent && first_ == begun_)
      count_outer();
    else
      set(begin);
  }

 private:
  void set(int64_t begin) {
    element_ = access_.offset;
    outer_ = access_.digits.size();
    if (outer_ == 0) return;
    inner_ = access_.digits[--outer_];
    begun_ = first_ = begin;
    if (outer_ == 0) return;
    begun_ = first_ = begin % inner_.extent;
    begin /= inner_.extent;
    for (size_t d = outer_; d-- > 0;) {
      index_[d] = begin % access_.digits[d].extent;
      begin /= access_.digits[d].extent;
      element_ += index_[d] * access_.digits[d].stride;
    }
  }
  void count_outer() {
    for (size_t d = outer_; d-- > 0;) {
      element_ += access_.digits[d].stride;
      if (++index_[d] < access_.digits[d].extent) return;
      element_ -= index_[d] * access_.digits[d].stride;
      index_[d] = 0;
    }
  }

  const Access& access_;
  size_t outer_;  // digits outside the innermost
  int64_t element_;
  Access::Digit inner_{std::numeric_limits<int64_t>::max(), 0};
  int64_t begun_ = 0, first_ = 0;  // places of the innermost digit: of the row's start, and now
  int64_t index_[kMaxDigits];
};

// Calls f(place, element, count, stride) for runs of one stride, until all elements of a register
// have had their turn; `place` counts in the register.
template <class F>
HWY_INLINE void for_runs(const Step& step, const Tile& tile, F f) {
  int64_t rows = 1, count = count_of(step, tile), begin = 0;
  if (step.space == Space::kRow) begin = tile.row;
  if (step.space == Space::kFull) rows = tile.rows, count = tile.cols, begin = tile.start;
  Odometer odometer(tile.accesses[step.access], begin);
  for (int64_t row = 0;;) {
    for (int64_t done = 0;;) {
      const int64_t run = std::min(odometer.left(), count - done);
      f(row * tile.stride + done, odometer.element(), run, odometer.stride());
      done += run;
      if (done == count) break;
      odometer.next_run();
    }
    if (++row == rows) return;
    begin += tile.pitch;
    odometer.next_row(tile.pitch, begin);
  }
}

// -- how elements in memory become lanes

template <class T>
using MemoryTag = hn::Rebind<T, U32>;

uint32_t lane_of(bf16 x) {
  return uint32_t{x.bits} << 16;
}
uint32_t lane_of(bool x) {
  return x ? ~0u : 0;
}
template <class T>
uint32_t lane_of(T x) {
  if constexpr (sizeof(T) == 4) return std::bit_cast<uint32_t>(x);
  return static_cast<uint32_t>(static_cast<int32_t>(x));
}

HWY_INLINE hn::Vec<U32> lanes_at(const uint32_t* p) {
  return hn::LoadU(U32(), p);
}
HWY_INLINE hn::Vec<U32> lanes_at(const bf16* p) {
  const auto halves = hn::LoadU(MemoryTag<uint16_t>(), reinterpret_cast<const uint16_t*>(p));
  return hn::ShiftLeft<16>(hn::PromoteTo(U32(), halves));
}
HWY_INLINE hn::Vec<U32> lanes_at(const bool* p) {
  const auto bytes = hn::LoadU(MemoryTag<uint8_t>(), reinterpret_cast<const uint8_t*>(p));
  const auto lanes = hn::PromoteTo(I32(), bytes);
  return hn::BitCast(U32(), hn::VecFromMask(I32(), hn::Ne(lanes, hn::Zero(I32()))));
}
HWY_INLINE hn::Vec<U32> lanes_at(const uint8_t* p) {
  return hn::PromoteTo(U32(), hn::LoadU(MemoryTag<uint8_t>(), p));
}
HWY_INLINE hn::Vec<U32> lanes_at(const int8_t* p) {
  return hn::BitCast(U32(), hn::PromoteTo(I32(), hn::LoadU(MemoryTag<int8_t>(), p)));
}

// A loop of vectors: memcpy takes to instructions that are slow on some processors for the few
// kilobytes of a tile.
template <class T>
HWY_INLINE void load_run(const T* from, int64_t count, uint32_t* to) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(U32()));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(lanes_at(from + i), U32(), to + i);
  for (; i < count; ++i) to[i] = lane_of(from[i]);
}

template <class T>
void load(const Step& step, const Tile& tile) {
  const auto* from = reinterpret_cast<const T*>(tile.inputs[step.index]);
  auto* to = register_of<uint32_t>(tile, step.dst);
  for_runs(step, tile, [&](int64_t place, int64_t element, int64_t count, int64_t stride) HWY_ATTR {
    uint32_t* run = to + place;
    if (stride == 1) return load_run(from + element, count, run);
    if (stride == 0) return void(std::fill_n(run, count, lane_of(from[element])));
    for (int64_t i = 0; i < count; ++i) run[i] = lane_of(from[element + i * stride]);
  });
}

// -- and back

HWY_INLINE void store_lanes(hn::Vec<U32> lanes, uint32_t* p) {
  hn::StoreU(lanes, U32(), p);
}
HWY_INLINE void store_lanes(hn::Vec<U32> lanes, bf16* p) {
  const auto rounded = round_to_bf16(F32(), hn::BitCast(F32(), lanes));
  const auto high = hn::BitCast(I32(), hn::ShiftRight<16>(hn::BitCast(U32(), rounded)));
  const MemoryTag<uint16_t> halves;
  hn::StoreU(hn::DemoteTo(halves, high), halves, reinterpret_cast<uint16_t*>(p));
}
HWY_INLINE void store_lanes(hn::Vec<U32> lanes, uint8_t* p) {
  const MemoryTag<uint8_t> bytes;
  hn::StoreU(hn::DemoteTo(bytes, hn::BitCast(I32(), lanes)), bytes, p);
}
HWY_INLINE void store_lanes(hn::Vec<U32> lanes, bool* p) {
  store_lanes(hn::And(lanes, hn::Set(U32(), 1u)), reinterpret_cast<uint8_t*>(p));
}
HWY_INLINE void store_lanes(hn::Vec<U32> lanes, int8_t* p) {
  const MemoryTag<int8_t> bytes;
  hn::StoreU(hn::DemoteTo(bytes, hn::BitCast(I32(), lanes)), bytes, p);
}
void store_lane(uint32_t lane, bf16* p) {
  *p = bf16(std::bit_cast<float>(lane));
}
template <class T>
void store_lane(uint32_t lane, T* p) {
  *p = static_cast<T>(lane);
}

template <class T>
void store_run(const uint32_t* from, int64_t count, T* to) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(U32()));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store_lanes(hn::LoadU(U32(), from + i), to + i);
  for (; i < count; ++i) store_lane(from[i], to + i);
}

#if HWY_TARGET == HWY_AVX3
// The same as store_run, with the instruction that rounds and narrows; subnormal numbers become
// zero.
[[gnu::target("avx512bf16")]] void store_run_natively(const uint32_t* from, int64_t count,
                                                      bf16* to) {
  for (; count >= 16; count -= 16, from += 16, to += 16) {
    const __m256bh halves = _mm512_cvtneps_pbh(_mm512_loadu_ps(from));
    std::memcpy(to, &halves, sizeof halves);
  }
  for (; count > 0; --count) store_lane(*from++, to++);
}
#endif

template <class T, void (*kRun)(const uint32_t*, int64_t, T*)>
void store(const Step& step, const Tile& tile) {
  auto* to = reinterpret_cast<T*>(tile.outputs[step.index]);
  const auto* from = register_of<const uint32_t>(tile, step.a);
  if (step.space == Space::kRow) return kRun(from, count_of(step, tile), to + tile.row);
  for (int64_t row = 0; row < tile.rows; ++row)
    kRun(from + row * tile.stride, tile.cols, to + tile.start + row * tile.pitch);
}

// -- values that come from the place alone

template <class T>
void iota(const Step& step, const Tile& tile) {
  auto* to = register_of<T>(tile, step.dst);
  for_runs(step, tile, [&](int64_t place, int64_t element, int64_t count, int64_t stride) HWY_ATTR {
    for (int64_t i = 0; i < count; ++i) to[place + i] = static_cast<T>(element + i * stride);
  });
}

struct Key {
  std::array<uint32_t, 2> key;
  uint64_t stream;

  PhiloxBlock block(uint64_t number) const {
    return philox4x32({static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32),
                       static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)},
                      key);
  }
  uint32_t word(uint64_t element) const { return block(element / 4)[element % 4]; }
};

#if HWY_TARGET == HWY_SCALAR
constexpr int64_t kBlocks = 1;

void make_blocks(const Key& key, uint64_t first, uint32_t* words) {
  std::ranges::copy(key.block(first), words);
}
#else
constexpr int64_t kBlocks = hn::MaxLanes(U32());

// The upper and lower halves of a * b.
struct Product {
  hn::Vec<U32> high, low;
};
HWY_INLINE Product multiply_wide(hn::Vec<U32> a, hn::Vec<U32> b) {
  const U32 d;
  const hn::Repartition<uint64_t, U32> wide;
  const auto odd_a = hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a)));
  const auto even = hn::BitCast(d, hn::ShiftRight<32>(hn::MulEven(a, b)));
  const auto odd = hn::BitCast(d, hn::MulEven(odd_a, b));
  return {hn::OddEven(odd, even), hn::Mul(a, b)};
}

// kBlocks consecutive blocks of four words, in order; numbers below 2^32 between them.
void make_blocks(const Key& key, uint64_t first, uint32_t* words) {
  const U32 d;
  auto c0 = hn::Iota(d, static_cast<uint32_t>(first));
  // The upper half of the number counts up where the lower one wrapped around.
  const auto wrapped = hn::Lt(c0, hn::Set(d, static_cast<uint32_t>(first)));
  auto c1 = hn::Add(hn::Set(d, static_cast<uint32_t>(first >> 32)),
                    hn::IfThenElseZero(wrapped, hn::Set(d, 1u)));
  auto c2 = hn::Set(d, static_cast<uint32_t>(key.stream));
  auto c3 = hn::Set(d, static_cast<uint32_t>(key.stream >> 32));
  uint32_t k0 = key.key[0], k1 = key.key[1];
  for (int round = 0; round < 10; ++round) {
    const Product p0 = multiply_wide(c0, hn::Set(d, 0xD2511F53u));
    const Product p1 = multiply_wide(c2, hn::Set(d, 0xCD9E8D57u));
    c0 = hn::Xor(hn::Xor(p1.high, c1), hn::Set(d, k0));
    c2 = hn::Xor(hn::Xor(p0.high, c3), hn::Set(d, k1));
    c1 = p1.low;
    c3 = p0.low;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  hn::StoreInterleaved4(c0, c1, c2, c3, d, words);
}
#endif

void random(const Step& step, const Tile& tile) {
  const Key key{{*register_of<uint32_t>(tile, step.a), *register_of<uint32_t>(tile, step.b)},
                static_cast<uint64_t>(step.argument)};
  auto* to = register_of<uint32_t>(tile, step.dst);
  for_runs(step, tile, [&](int64_t place, int64_t element, int64_t count, int64_t stride) HWY_ATTR {
    if (stride != 1) {
      for (int64_t i = 0; i < count; ++i)
        to[place + i] = key.word(static_cast<uint64_t>(element + i * stride));
      return;
    }
    HWY_ALIGN uint32_t words[4 * kBlocks];
    for (int64_t done = 0; done < count;) {
      const int64_t block = (element + done) / 4, skip = (element + done) % 4;
      make_blocks(key, static_cast<uint64_t>(block), words);
      const int64_t take = std::min(4 * kBlocks - skip, count - done);
      std::copy_n(words + skip, take, to + place + done);
      done += take;
    }
  });
}

// -- along rows

void spread_scalar(const Step& step, const Tile& tile) {
  std::fill_n(register_of<uint32_t>(tile, step.dst), count_of(step, tile),
              *register_of<uint32_t>(tile, step.a));
}
void spread_rows(const Step& step, const Tile& tile) {
  const auto* from = register_of<uint32_t>(tile, step.a);
  auto* to = register_of<uint32_t>(tile, step.dst);
  for (int64_t row = 0; row < tile.counts[static_cast<size_t>(Space::kRow)]; ++row)
    std::fill_n(to + row * tile.row_length, tile.row_length, from[row]);
}

template <class D, ReduceKind kKind>
struct Combine {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  static constexpr bool kFloat = std::is_same_v<T, float>;

  static T neutral() {
    using Limits = std::numeric_limits<T>;
    if (kKind == ReduceKind::kAdd) return 0;
    if (kKind == ReduceKind::kMax) return kFloat ? -Limits::infinity() : Limits::lowest();
    return kFloat ? Limits::infinity() : Limits::max();
  }
  static HWY_INLINE V two(V a, V b) {
    if constexpr (kKind == ReduceKind::kAdd)
      return hn::Add(a, b);
    else if constexpr (kKind == ReduceKind::kMax)
      return kFloat ? max_or_nan(D(), a, b) : hn::Max(a, b);
    else
      return kFloat ? min_or_nan(D(), a, b) : hn::Min(a, b);
  }
  static T two(T a, T b) {
    if constexpr (kKind == ReduceKind::kAdd)
      return a + b;
    else if constexpr (kKind == ReduceKind::kMax)
      return a != a || a > b ? a : b;
    else
      return a != a || a < b ? a : b;
  }
  static HWY_INLINE T lanes(V v) {
    HWY_ALIGN T all[hn::MaxLanes(D())];
    hn::Store(v, D(), all);
    T result = all[0];
    for (size_t i = 1; i < hn::Lanes(D()); ++i) result = two(result, all[i]);
    return result;
  }
  // Four partial results, so that no chain of additions is long.
  static HWY_NOINLINE T run(const T* p, int64_t count) {
    const auto n = static_cast<int64_t>(hn::Lanes(D()));
    V part[4] = {hn::Set(D(), neutral()), hn::Set(D(), neutral()), hn::Set(D(), neutral()),
                 hn::Set(D(), neutral())};
    int64_t i = 0;
    for (; i + 4 * n <= count; i += 4 * n) {
      for (int64_t k = 0; k < 4; ++k) part[k] = two(part[k], hn::LoadU(D(), p + i + k * n));
    }
    for (; i + n <= count; i += n) part[0] = two(part[0], hn::LoadU(D(), p + i));
    T result = lanes(two(two(part[0], part[1]), two(part[2], part[3])));
    for (; i < count; ++i) result = two(result, p[i]);
    return result;
  }
};

template <class D, ReduceKind kKind>
void row_reduce(const Step& step, const Tile& tile) {
  using T = hn::TFromD<D>;
  const auto* from = register_of<const T>(tile, step.a);
  auto* to = register_of<T>(tile, step.dst);
  for (int64_t row = 0; row < tile.counts[static_cast<size_t>(Space::kRow)]; ++row)
    to[row] = Combine<D, kKind>::run(from + row * tile.row_length, tile.row_length);
}

// A run of whole rows, each of which goes to the same elements next to each other, as a block of
// these rows; else the tile as it is.
Tile as_rows(const Access& access, const Tile& tile) {
  if (tile.rows > 1 || access.digits.size() != 2) return tile;
  const int64_t length = access.digits[1].extent;
  if (access.digits[1].stride != 1 || tile.start % length != 0 || tile.cols % length != 0)
    return tile;
  Tile block = tile;
  block.rows = tile.cols / length;
  block.cols = block.pitch = block.stride = length;
  return block;
}

// Whether all rows of a block go to the same elements, next to each other.
bool sums_columns(const Access& access, const Tile& tile) {
  const Access::Digit columns{tile.pitch, 1};
  return tile.rows > 1 && access.digits.size() == 2 && access.digits[0].stride == 0 &&
         access.digits[1] == columns;
}

// A block's rows, to one row of sums: down the rows first, so that each sum is touched once.
template <class D, ReduceKind kKind>
void accumulate_columns(const hn::TFromD<D>* from, const Tile& tile, hn::TFromD<D>* to) {
  using C = Combine<D, kKind>;
  const auto n = static_cast<int64_t>(hn::Lanes(D()));
  int64_t i = 0;
  for (; i + n <= tile.cols; i += n) {
    auto sum = hn::LoadU(D(), to + i);
    for (int64_t row = 0; row < tile.rows; ++row)
      sum = C::two(sum, hn::LoadU(D(), from + row * tile.stride + i));
    hn::StoreU(sum, D(), to + i);
  }
  for (; i < tile.cols; ++i) {
    for (int64_t row = 0; row < tile.rows; ++row)
      to[i] = C::two(to[i], from[row * tile.stride + i]);
  }
}

template <class D, ReduceKind kKind>
void accumulate(const Step& step, const Tile& tile) {
  using C = Combine<D, kKind>;
  using T = hn::TFromD<D>;
  const Accumulator& accumulator = tile.accumulators[step.index];
  auto* sums = reinterpret_cast<T*>(accumulator.data);
  const auto* from = register_of<const T>(tile, step.a);
  const Access& access = tile.accesses[step.access];
  if (const Tile block = as_rows(access, tile); sums_columns(access, block)) {
    const int64_t column = access.offset + block.start % block.pitch - accumulator.first;
    return accumulate_columns<D, kKind>(from, block, sums + column);
  }
  for_runs(step, tile, [&](int64_t place, int64_t element, int64_t count, int64_t stride) HWY_ATTR {
    T* to = sums + (element - accumulator.first);
    const T* run = from + place;
    if (stride == 0) {
      *to = C::two(*to, C::run(run, count));
      return;
    }
    int64_t i = 0;
    if (stride == 1) {
      const auto n = static_cast<int64_t>(hn::Lanes(D()));
      for (; i + n <= count; i += n)
        hn::StoreU(C::two(hn::LoadU(D(), to + i), hn::LoadU(D(), run + i)), D(), to + i);
    }
    for (; i < count; ++i) to[i * stride] = C::two(to[i * stride], run[i]);
  });
}

template <class D>
StepFunction reduction(ReduceKind kind, bool rows) {
  switch (kind) {
    case ReduceKind::kAdd:
      return rows ? row_reduce<D, ReduceKind::kAdd> : accumulate<D, ReduceKind::kAdd>;
    case ReduceKind::kMax:
      return rows ? row_reduce<D, ReduceKind::kMax> : accumulate<D, ReduceKind::kMax>;
    case ReduceKind::kMin:
      return rows ? row_reduce<D, ReduceKind::kMin> : accumulate<D, ReduceKind::kMin>;
  }
  return nullptr;
}

}  // namespace

StepFunction find_load_here(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return load<bool>;
    case DType::kU8:
      return load<uint8_t>;
    case DType::kI8:
      return load<int8_t>;
    case DType::kBF16:
      return load<bf16>;
    case DType::kI32:
    case DType::kU32:
    case DType::kF32:
      return load<uint32_t>;
    default:
      return nullptr;
  }
}

StepFunction find_store_here(DType dtype, [[maybe_unused]] bool natively) {
  switch (dtype) {
    case DType::kBool:
      return store<bool, store_run>;
    case DType::kU8:
      return store<uint8_t, store_run>;
    case DType::kI8:
      return store<int8_t, store_run>;
    case DType::kBF16:
#if HWY_TARGET == HWY_AVX3
      if (natively) return store<bf16, store_run_natively>;
#endif
      return store<bf16, store_run>;
    case DType::kI32:
    case DType::kU32:
    case DType::kF32:
      return store<uint32_t, store_run>;
    default:
      return nullptr;
  }
}

StepFunction find_iota_here(DType dtype) {
  switch (dtype) {
    case DType::kI32:
    case DType::kU32:
      return iota<uint32_t>;
    case DType::kBF16:
    case DType::kF32:
      return iota<float>;
    default:
      return nullptr;
  }
}

StepFunction find_random_here() {
  return random;
}

StepFunction find_spread_here(Space from) {
  return from == Space::kScalar ? spread_scalar : spread_rows;
}

StepFunction find_reduction_here(ReduceKind kind, Lane lane, bool rows) {
  switch (lane) {
    case Lane::kF32:
      return reduction<F32>(kind, rows);
    case Lane::kI32:
      return reduction<I32>(kind, rows);
    case Lane::kU32:
      return reduction<U32>(kind, rows);
    default:
      return nullptr;
  }
}

}  // namespace centavo::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "centavo/backend/cpu/levels.h"

namespace centavo::cpu {

StepFunction find_load(DType dtype, CpuLevel level) {
  return CENTAVO_AT_LEVEL(level, find_load_here)(dtype);
}
StepFunction find_store(DType dtype, CpuLevel level) {
  return CENTAVO_AT_LEVEL(level, find_store_here)(dtype, level == CpuLevel::kAvx512Bf16);
}
StepFunction find_iota(DType dtype, CpuLevel level) {
  return CENTAVO_AT_LEVEL(level, find_iota_here)(dtype);
}
StepFunction find_random(CpuLevel level) {
  return CENTAVO_AT_LEVEL(level, find_random_here)();
}
StepFunction find_spread(Space from, CpuLevel level) {
  return CENTAVO_AT_LEVEL(level, find_spread_here)(from);
}
StepFunction find_row_reduce(ReduceKind kind, Lane lane, CpuLevel level) {
  return CENTAVO_AT_LEVEL(level, find_reduction_here)(kind, lane, true);
}
StepFunction find_accumulate(ReduceKind kind, Lane lane, CpuLevel level) {
  return CENTAVO_AT_LEVEL(level, find_reduction_here)(kind, lane, false);
}

}  // namespace centavo::cpu
#endif
