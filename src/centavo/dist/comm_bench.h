// How fast the ranks of a group reduce: nccom-test's and nccl-tests' sweep and terms.
#pragma once

#include <cstdint>
#include <functional>

#include "centavo/dist/group.h"

namespace centavo::dist {

struct CommBenchOptions {
  int64_t min_bytes = 1 << 10, max_bytes = int64_t{512} << 20;  // of each rank's value
  int64_t step_factor = 2;
  int64_t most_iterations = 1000;
  double seconds = 0.5;  // measured for each size, about; five iterations at least
  DType dtype = DType::kF32;
};

// One size of the sweep. Bandwidths in bytes/s: algorithm bandwidth is bytes over time; bus
// bandwidth multiplies it by 2 (n - 1) / n, what a ring has to move through each rank's link, so
// that it can be held against the hardware's whatever the number of ranks.
struct CommBenchRow {
  int64_t bytes = 0, count = 0, iterations = 0;
  double seconds = 0;  // of one all_reduce, median
  double algorithm_bandwidth = 0, bus_bandwidth = 0;
};

// All ranks must call it; `on_row` gets each size when it has been measured, on every rank.
void bench_all_reduce(Group& group, const CommBenchOptions& options,
                      const std::function<void(const CommBenchRow&)>& on_row);

}  // namespace centavo::dist
