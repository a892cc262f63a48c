// Learning-rate schedules: pure functions from step to learning rate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace centavo {

struct ScheduleOptions {
  std::string name = "constant";  // "constant" or "cosine"
  double lr = 1e-3;               // peak
  double min_lr = 0;              // at the end of the cosine
  double warmup_lr = 0;           // at step 0 of the warm-up
  int64_t warmup_steps = 0;       // linear from warmup_lr to lr
  int64_t total_steps = 0;        // of the whole run; the cosine ends there
};

// The learning rate of step `step`, counted from 0. Throws Error on an unknown name, with the
// nearest.
double learning_rate(const ScheduleOptions& options, int64_t step);
std::vector<std::string> schedule_names();

}  // namespace centavo
