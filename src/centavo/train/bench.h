// The published experiment: the honest time of a training step, split into what it is spent on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "centavo/data/loader.h"
#include "centavo/train/meter.h"
#include "centavo/train/step.h"

namespace centavo {

struct BenchOptions {
  int64_t batch_size = 16;
  int64_t warmup = 10;      // steps left out
  int64_t steps = 500;      // stop after so many measured steps,
  double max_seconds = 60;  // or after so long, whichever comes first
  double lr = 1e-3;
  bool profile = false;  // time every kernel of the measured steps
  // Called after each measured step: how many are done, of how many at most.
  std::function<void(int64_t done, int64_t total)> on_step;
};

// Times are seconds per step, wall-clock between completed steps. The three parts are what the
// launching thread spent: waiting for a batch, preparing and launching, waiting for the device;
// they add up to the step.
struct BenchResult {
  int64_t steps = 0;
  Summary step, data_wait, host, device;
  double samples_per_second = 0, tflops = 0;
  double compile_seconds = 0;
  int64_t compiles = 0, cache_hits = 0;  // of this process so far
  double peak_memory_mib = 0, planned_memory_mib = 0;
  std::vector<double> losses;          // of the measured steps
  std::vector<KernelProfile> profile;  // when asked for
};

// Throws Error when the loader ends early.
BenchResult run_bench(TrainStep& step, data::Loader& loader, const BenchOptions& options);

}  // namespace centavo
