// Wall-clock timing.
#pragma once

#include <chrono>

namespace centavo {

class Timer {
 public:
  // Seconds since construction or the last restart.
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  // Returns the seconds so far and starts again.
  double restart() {
    double s = seconds();
    start_ = Clock::now();
    return s;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace centavo
