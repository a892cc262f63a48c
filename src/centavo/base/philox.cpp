// Drawing single numbers from a Philox stream.
#include "centavo/base/philox.h"

#include <cmath>
#include <numbers>

namespace centavo {

uint32_t Philox::next_u32() {
  if (used_ == 4) {
    words_ = philox4x32({static_cast<uint32_t>(block_), static_cast<uint32_t>(block_ >> 32),
                         static_cast<uint32_t>(stream_), static_cast<uint32_t>(stream_ >> 32)},
                        key_);
    ++block_;
    used_ = 0;
  }
  return words_[static_cast<size_t>(used_++)];
}

uint64_t Philox::next_below(uint64_t bound) {
  // Rejects the short last interval so that every value is equally likely.
  const uint64_t limit = ~uint64_t{0} - ~uint64_t{0} % bound;
  for (;;) {
    uint64_t x = next_u32();
    x = x << 32 | next_u32();
    if (x < limit) return x % bound;
  }
}

double Philox::next_normal() {
  double u = (next_u32() + 1.0) * 0x1p-32;  // in (0, 1]: its logarithm is finite
  double v = next_u32() * 0x1p-32;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

}  // namespace centavo
