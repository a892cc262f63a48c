// Options that the fleet commands share: what is trained, how it is run, at which prices.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "centavo/fleet/predictor.h"
#include "centavo/fleet/prices.h"
#include "centavo/fleet/result_table.h"

namespace centavo::cli {

// What is trained. The step of a model of the zoo is recorded and counted; other known
// architectures, precisions and optimizers have analytic descriptions.
struct TrainingFlags {
  // Without `batch_and_precision` the command chooses those itself.
  TrainingFlags(CLI::App& app, bool batch_and_precision);
  fleet::Workload workload() const { return workload(batch, precision); }
  fleet::Workload workload(int batch_size, const std::string& in_precision) const;

  std::string model, precision = "bf16", optimizer = "adam", input;
  int batch = 16, img_size = 0;
};

// How it is run.
struct RunFlags {
  explicit RunFlags(CLI::App& app);
  fleet::RunSetup setup() const;

  int count = 1, workers = 0, loader_workers = 0, accumulate = 1, steps_per_launch = 1;
  bool recompute = false, channels_first = false;
  std::string as_of;
};

struct PriceFlags {
  explicit PriceFlags(CLI::App& app);
  fleet::PriceChoice choice() const;

  std::string prices, region = "us-east-1";
};

void add_table_format(CLI::App& app, fleet::TableFormat& format);

}  // namespace centavo::cli
