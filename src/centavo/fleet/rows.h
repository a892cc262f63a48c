// Training throughputs that somebody measured: published ones and users' own, and how each was run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "centavo/fleet/predictor.h"

namespace centavo::fleet {

struct TrainingRow {
  std::string id;
  std::string model;
  int size = 0;          // image size or sequence length; 0: the model's own
  std::string chip;      // name or alias; may be empty when the instance is given
  std::string instance;  // may be empty: a system of the catalogue with enough such chips is taken
  int devices = 1;       // workers of all instances together
  int batch = 0;  // per worker; 0: not published, the largest power of two that fits is taken
  std::string precision, optimizer;
  double samples_per_second = 0;  // of all workers together
  std::string input;              // synthetic, images, tokens; empty: by software and model
  int loader_workers = 0;         // per worker; 0: not published
  int accumulate = 1, steps_per_launch = 1;
  std::string software, date, source;
};

// Samples per dollar of one machine over another's.
struct RatioRow {
  TrainingRow better, than;
  double price_performance = 0;
};

struct TrainingRows {
  std::vector<TrainingRow> rows;
  std::vector<RatioRow> ratios;
};

// data/fleet/published.toml.
TrainingRows published_rows(const std::filesystem::path& dir);
TrainingRows published_rows();

// Rows of a .csv file with the columns id, model, image_or_seq, device, instance, devices,
// batch_per_device, precision, optimizer, samples_per_second, software, date, source (and input,
// loader_workers, accumulate, steps_per_launch where known), or of a .jsonl file that `centavo
// bench --record` wrote. Rows without a throughput are left out. Throws Error naming the line.
std::vector<TrainingRow> read_training_rows(const std::filesystem::path& path);

// Appends a row to a .jsonl file that read_training_rows() reads; starts the file if there is none.
// Throws Error when it cannot be written.
void append_jsonl_row(const std::filesystem::path& path, const TrainingRow& row);

// The prediction of a row as it was run. Throws Error when the catalogue or the model table lacks
// what it names.
struct ResolvedRow {
  const Instance* instance;
  Workload workload;
  RunSetup setup;
};
ResolvedRow resolve(const TrainingRow& row, const Predictor& predictor);

}  // namespace centavo::fleet
