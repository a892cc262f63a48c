// Standard normal numbers by the buffer, at the speed of memory.
#pragma once

#include <cstdint>
#include <span>

#include "centavo/base/bf16.h"

namespace centavo::data {

// Fills `out` with independent draws of N(0, 1): Philox4x32-10 keyed by `seed` and counted along
// `stream`, then Box and Muller's transform. The same bits on every machine, whatever its vector
// width. A shorter buffer gets a prefix of a longer one's numbers. The largest magnitude is 6.66.
void fill_normal(std::span<float> out, uint64_t seed, uint64_t stream);
// The same numbers rounded to bf16.
void fill_normal(std::span<bf16> out, uint64_t seed, uint64_t stream);

}  // namespace centavo::data
