// Plans: ways to finish a training job, ranked by what they cost.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "centavo/fleet/compare.h"

namespace centavo::fleet {

struct PlanRequest {
  // The step of the model at a batch per worker and a precision.
  std::function<Workload(int batch, const std::string& precision)> describe;
  std::vector<int> batches = {8, 16, 32, 64, 128};
  std::vector<std::string> precisions = {"bf16", "amp-fp16"};
  double samples = 0;  // of one epoch
  double epochs = 1;
  std::optional<double> deadline_hours, budget_usd;
  std::string instances;                 // globs; "": all
  int max_instances = 1;                 // powers of two up to it are tried
  int max_global_batch = 0;              // 0: any; larger ones may not converge as well
  PriceChoice prices;                    // its kind is spot for a spot job
  double interruptions_per_hour = 0.05;  // of one spot machine
  double checkpoint_bandwidth = 200e6;   // B/s to durable storage
  double restart_seconds = 300;  // a replacement starts, restores and loads its compiled step
};

// A spot job's interruptions: Young's and Daly's checkpoint interval and what it costs.
struct SpotCost {
  double interval_seconds = 0;    // work between checkpoints
  double checkpoint_seconds = 0;  // to write one
  double interruptions = 0;       // expected during the job
  double overhead = 0;            // wall time over undisturbed time, minus 1
};
// Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps" (2006): for
// mean time between interruptions M, checkpoint time C, restart time R and undisturbed time T, all
// in seconds.
SpotCost spot_cost(double undisturbed, double mean_between, double checkpoint, double restart);

struct PlanOption {
  CompareRow row;
  int batch = 0;
  std::string precision;
  bool recompute = false;
  double hours = 0, usd = 0;
  double chance =
      1;  // to meet the deadline, from the prediction's error band; 1 without a deadline
  std::optional<SpotCost> spot;
  bool on_time = true, affordable = true;  // expected hours and dollars within the limits
  bool feasible() const { return on_time && affordable; }
};

struct Plan {
  std::vector<PlanOption>
      options;  // the best of each type and count: feasible first, then by dollars
  std::vector<std::string> notes;  // which constraint binds and what relaxing it would buy
  std::vector<Refusal> refused;    // types that no setting fits
  std::vector<std::string> assumptions;
  bool possible() const { return !options.empty() && options.front().feasible(); }
};

// Throws Error when the request makes no sense, or no machine can run the model or has a price. A
// plan whose constraints cannot be met is returned with possible() false and notes that say so.
Plan plan(const PlanRequest& request, const Predictor& predictor, const PriceBook& prices);

ResultTable plan_table(const Plan& plan, size_t top);
std::string plan_text(const Plan& plan, TableFormat format, size_t top);

}  // namespace centavo::fleet
