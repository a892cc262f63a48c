// A discrete-event model of data-parallel training steps: loader workers, host-to-device copy,
// launch, forward, backward with bucketed all-reduces overlapped, optimizer; on 1 to 10,000
// instances.
#pragma once

#include <cstdint>
#include <vector>

namespace centavo::fleet {

// One step of one worker; every worker and instance is alike. Times in seconds.
struct StepPlan {
  int instances = 1;
  int workers = 1;  // per instance

  // Host, shared by the instance's workers.
  int cores = 1, vcpus = 1;
  int loader_workers = 1;      // per worker
  int prefetch = 2;            // batches each loader worker keeps ready
  double batch_cpu = 0;        // core seconds to make one batch
  double batch_variation = 0;  // its coefficient of variation: 0 fixed, 1 exponential
  double feed_cpu =
      0;  // core seconds in the training process to receive and convert it, beside the launch
  double launch_cpu = 0;  // core seconds to trace and launch a step
  int steps_per_launch = 1;
  bool launch_overlaps = false;  // the host runs one step ahead of the device

  // Device.
  double copy = 0;  // host to device, before forward
  double forward = 0, backward = 0, optimizer = 0;
  struct Bucket {
    double ready;       // s after backward began
    double all_reduce;  // s
  };
  std::vector<Bucket> buckets;  // in the order in which they are reduced
  bool reduce_overlaps = true;  // else all after backward
};

struct SimulatedStep {
  double seconds = 0;  // a step, averaged after warm-up
  // Its parts on the slowest path; they add up to `seconds`.
  double input = 0;   // waiting for a batch
  double launch = 0;  // tracing and launching that the device waits for
  double copy = 0;
  double compute = 0;  // forward, backward, optimizer
  double network = 0;  // all-reduce not hidden by backward
  int64_t events = 0;  // simulated
};

// Deterministic for a given seed. With batch_variation == 0 all instances behave alike, so one is
// simulated.
SimulatedStep simulate(const StepPlan& plan, uint64_t seed = 0);

}  // namespace centavo::fleet
