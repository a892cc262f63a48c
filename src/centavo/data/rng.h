// Where a sample's randomness comes from: a function of (seed, epoch, index), apart from other uses
// of the seed.
#pragma once

#include <algorithm>
#include <cstdint>

#include "centavo/base/philox.h"
#include "centavo/data/dataset.h"

namespace centavo::data {

class SampleRng {
 public:
  explicit SampleRng(const SampleKey& key) : SampleRng(key.seed ^ kDomain, stream_of(key)) {}

  double uniform() { return philox_.next_u32() * 0x1p-32; }  // in [0, 1)
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  // Standard normal.
  double normal() { return philox_.next_normal(); }
  bool coin(double probability) { return uniform() < probability; }
  // In [0, bound); bound > 0.
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(philox_.next_below(static_cast<uint64_t>(bound)));
  }
  double signed_randomly(double x) { return coin(0.5) ? x : -x; }
  uint64_t word() { return uint64_t{philox_.next_u32()} << 32 | philox_.next_u32(); }

 private:
  SampleRng(uint64_t seed, uint64_t stream) : philox_(seed, stream) {}
  // Epochs below 2^24 and indices below 2^40 have streams of their own.
  static uint64_t stream_of(const SampleKey& key) {
    return static_cast<uint64_t>(key.epoch) << 40 ^ static_cast<uint64_t>(key.index);
  }
  static constexpr uint64_t kDomain = 0x6175676d656e7400u;

  Philox philox_;
};

}  // namespace centavo::data
