// In which order an epoch visits the samples.
#pragma once

#include <cstdint>
#include <vector>

namespace centavo::data {

// A permutation of 0 .. size-1, uniform among all: a function of (seed, epoch) alone (Fisher and
// Yates, Philox).
std::vector<int64_t> epoch_order(int64_t size, uint64_t seed, int64_t epoch);

}  // namespace centavo::data
