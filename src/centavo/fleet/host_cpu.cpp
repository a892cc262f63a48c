// Processor sharing.
#include "centavo/fleet/host_cpu.h"

#include <algorithm>
#include <limits>

#include "centavo/base/error.h"

namespace centavo::fleet {

double HostCpu::rate() const {
  const double running = static_cast<double>(jobs_.size());
  if (running <= cores_) return 1;
  // Between all cores and all hardware threads the capacity grows linearly.
  const double second = std::min<double>(running, vcpus_) - cores_;
  return (cores_ + kSecondThread * second) / running;
}

void HostCpu::advance(double now) {
  virtual_ += (now - now_) * (jobs_.empty() ? 1 : rate());
  now_ = now;
}

void HostCpu::start(double now, double work, int64_t job) {
  advance(now);
  jobs_.push({virtual_ + work, job});
}

double HostCpu::next_end() const {
  if (jobs_.empty()) return std::numeric_limits<double>::infinity();
  return now_ + std::max(0.0, jobs_.top().end - virtual_) / rate();
}

int64_t HostCpu::finish(double now) {
  CENTAVO_CHECK(!jobs_.empty());
  advance(now);
  const int64_t id = jobs_.top().id;
  jobs_.pop();
  return id;
}

}  // namespace centavo::fleet
