// HostCpu: the processors of one simulated host, shared equally by the threads that run.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

namespace centavo::fleet {

// Processor sharing in virtual time: each running thread receives rate() core seconds a second, so
// a job of w core seconds ends when the virtual clock has advanced by w. Second hardware threads of
// a core add kSecondThread of a core.
class HostCpu {
 public:
  static constexpr double kSecondThread =
      0.25;  // what simultaneous multithreading is usually measured to add

  HostCpu(int cores, int vcpus) : cores_(cores), vcpus_(vcpus) {}

  // Starts a job of `work` core seconds at time `now`.
  void start(double now, double work, int64_t job);
  // When the next job ends if nothing else starts; infinity when idle.
  double next_end() const;
  // Ends that job, which must be due at `now`, and returns it.
  int64_t finish(double now);
  bool idle() const { return jobs_.empty(); }

 private:
  struct Job {
    double end;  // in virtual time
    int64_t id;
    bool operator>(const Job& other) const {
      return end > other.end || (end == other.end && id > other.id);
    }
  };
  double rate() const;
  void advance(double now);

  int cores_, vcpus_;
  double now_ = 0, virtual_ = 0;
  std::priority_queue<Job, std::vector<Job>, std::greater<>> jobs_;
};

}  // namespace centavo::fleet
