// The remedies, the cheapest first.
#include "centavo/cli/input_bound.h"

#include <fmt/format.h>
#include <thread>

namespace centavo::cli {

std::string input_bound_message(double wait_seconds, double step_seconds, int workers) {
  constexpr double kTolerated = 0.1;
  if (wait_seconds <= kTolerated * step_seconds) return {};
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  const std::string remedy =
      workers < cores
          ? fmt::format("raise --workers (now {}; this machine has {} cores)", workers, cores)
          : "store the images at about the size they are trained at, leave --aa and --color-jitter "
            "out, or take a machine with more cores";
  return fmt::format("input bound: {:.0f} % of a step's time is waiting for data; {}",
                     100 * wait_seconds / step_seconds, remedy);
}

}  // namespace centavo::cli
