// How kernels divide their work among threads: one contiguous part each, the same for the same
// number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

namespace centavo::cpu {

struct Range {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

// Part `part` of `parts` nearly equal ones of [0, size), cut at multiples of `unit`.
inline Range share(int64_t size, int64_t part, int64_t parts, int64_t unit = 1) {
  const int64_t units = (size + unit - 1) / unit;
  return {std::min(size, units * part / parts * unit),
          std::min(size, units * (part + 1) / parts * unit)};
}

// How many of `threads` pay for memory-bound work on so many elements.
inline int team_for(int64_t elements, int threads) {
  constexpr int64_t kElementsPerThread = 1 << 14;
  return static_cast<int>(std::clamp<int64_t>(elements / kElementsPerThread, 1, threads));
}

// f(0), ..., f(team - 1), each on a thread of its own.
template <class F>
void in_parallel(int team, F f) {
#pragma omp parallel for schedule(static, 1) num_threads(team)
  for (int part = 0; part < team; ++part) f(part);
}

}  // namespace centavo::cpu
