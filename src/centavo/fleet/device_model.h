// The device's part of a step: a roofline per kernel. A matrix product takes the larger of its
// arithmetic at a share of the peak and its traffic at a share of the bandwidth; everything else
// takes its traffic.
#pragma once

#include <array>
#include <vector>

#include "centavo/fleet/catalogue.h"
#include "centavo/fleet/parameters.h"
#include "centavo/fleet/software.h"
#include "centavo/fleet/workload.h"

namespace centavo::fleet {

struct DeviceTimes {
  double forward = 0, backward = 0, optimizer = 0;  // s
  // Gradients by the time at which they are complete, s after backward began; ascending.
  struct Gradient {
    double ready, bytes;
  };
  std::vector<Gradient> gradients;
  std::array<double, kOpClasses> by_class{};             // s
  double compute_bound = 0, memory_bound = 0, gaps = 0;  // s; their sum is total()
  int kernels = 0;

  double total() const { return forward + backward + optimizer; }
};

// Times of one worker's step on its part of `chip`. Throws Error when the chip has no figures, or
// cannot multiply in the workload's precision.
DeviceTimes device_times(const Workload& workload, const Chip& chip, const Stack& stack,
                         Layout layout, const Parameters& parameters);

// Ratio of memory traffic to what an eager framework moves, on chips with software-managed memory:
// near zero when a step's largest product fits on chip with its neighbours fused, above one when
// tensors are spilled and read again.
double spill_factor(const Workload& workload, const Chip& chip, const Parameters& parameters);

}  // namespace centavo::fleet
