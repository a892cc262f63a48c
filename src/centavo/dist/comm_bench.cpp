#include "centavo/dist/comm_bench.h"

#include <algorithm>
#include <vector>

#include "centavo/base/timer.h"

namespace centavo::dist {
namespace {

constexpr int64_t kLeastIterations = 5;

}  // namespace

void bench_all_reduce(Group& group, const CommBenchOptions& options,
                      const std::function<void(const CommBenchRow&)>& on_row) {
  std::vector<std::byte> data(static_cast<size_t>(options.max_bytes));
  for (int64_t bytes = options.min_bytes; bytes <= options.max_bytes;
       bytes *= options.step_factor) {
    CommBenchRow row{.bytes = bytes, .count = bytes / size_of(options.dtype)};
    const Piece piece{data.data(), data.data(), row.count};
    auto timed = [&] {
      Timer timer;
      group.all_reduce({&piece, 1}, options.dtype, 1.0 / group.size());
      return timer.seconds();
    };
    timed();  // pages are touched, connections made
    group.barrier();
    const double once = timed();
    row.iterations = std::clamp(static_cast<int64_t>(options.seconds / std::max(once, 1e-9)),
                                kLeastIterations, options.most_iterations);
    group.broadcast(&row.iterations, sizeof row.iterations, 0);
    std::vector<double> times(static_cast<size_t>(row.iterations));
    std::ranges::generate(times, timed);
    std::ranges::nth_element(times, times.begin() + row.iterations / 2);
    row.seconds = times[times.size() / 2];
    row.algorithm_bandwidth = static_cast<double>(bytes) / row.seconds;
    row.bus_bandwidth = row.algorithm_bandwidth * 2 * (group.size() - 1) / group.size();
    on_row(row);
  }
}

}  // namespace centavo::dist
