// The fitted parameters of the cost model: few, each with a physical meaning, a prior and a unit.
// docs/fleet.md explains them; calibration.h fits them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "centavo/fleet/catalogue.h"

namespace centavo::fleet {

struct Parameters {
  double compute = 0;  // share of a chip's peak that a large matrix product or convolution reaches
  double memory = 0;   // share of the memory bandwidth that streaming kernels reach
  double depthwise = 0;  // share of the fp32 peak that depthwise convolutions reach
  double spill = 0;      // Neuron: memory traffic per unit of (working set / on-chip memory)
  double neuron_launch =
      0;              // Neuron through torch-xla: s of one CPU core to trace and launch a step
  double decode = 0;  // s of one CPU core to read, decode and augment a 224 x 224 image

  // Reads parameters.toml from `dir`, by default data_dir().
  static Parameters load(const std::filesystem::path& dir);
  static Parameters load();
};

// What calibration knows of one parameter.
struct ParameterInfo {
  std::string name;
  double Parameters::*member;
  double prior = 0;   // expected value
  double spread = 0;  // standard deviation of its logarithm
  std::string unit;
};
const std::vector<ParameterInfo>& parameter_infos();

// How far off predictions are: the +- printed beside them.
struct ErrorBands {
  double neuron = 0, gpu = 0,
         cpu = 0;  // relative half-width that about 80 % of leave-one-out errors stay within
  std::vector<std::string> chips;  // those with a row in the calibration

  // Half as much again for a chip without a row.
  double of(const Chip& chip) const;
  // Reads bands.toml from `dir`, by default data_dir().
  static ErrorBands load(const std::filesystem::path& dir);
  static ErrorBands load();
};

// The files' texts for these values; load() reads them back.
std::string to_toml(const Parameters& parameters);
std::string to_toml(const ErrorBands& bands);

}  // namespace centavo::fleet
