// Philox4x32-10, the counter-based generator: four 32-bit words per (key, counter), no state to
// carry. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
#pragma once

#include <array>
#include <cstdint>

namespace centavo {

using PhiloxBlock = std::array<uint32_t, 4>;

inline PhiloxBlock philox4x32(PhiloxBlock counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t{0xD2511F53u} * counter[0];
    uint64_t p1 = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(p0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

// A stream of numbers that is a function of (seed, stream): the same on every machine and thread
// count.
class Philox {
 public:
  explicit Philox(uint64_t seed, uint64_t stream = 0)
      : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}, stream_(stream) {}

  uint32_t next_u32();
  // Uniform in [0, 1), 24 bits.
  float next_uniform() { return static_cast<float>(next_u32() >> 8) * 0x1p-24f; }
  // Uniform in [0, bound), unbiased; bound > 0.
  uint64_t next_below(uint64_t bound);
  // Standard normal, Box-Muller in double.
  double next_normal();

 private:
  std::array<uint32_t, 2> key_;
  uint64_t stream_;
  uint64_t block_ = 0;
  PhiloxBlock words_{};
  int used_ = 4;
};

}  // namespace centavo
