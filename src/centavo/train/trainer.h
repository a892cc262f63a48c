// The training loop: epochs of steps, evaluation after each, logs and final weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "centavo/data/loader.h"
#include "centavo/optim/schedule.h"
#include "centavo/train/step.h"

namespace centavo {

// Means since the epoch began in `mean`, of the latest step in `last`.
struct TrainProgress {
  int64_t epoch = 0;
  int64_t step = 0, steps_in_epoch = 0;  // step counts from 1
  double loss = 0, mean_loss = 0;
  double step_seconds = 0, mean_step_seconds = 0;
  double data_wait_seconds = 0, mean_data_wait_seconds = 0;
  double lr = 0;
  int64_t batch_size = 0;
  bool log_due = false;  // at every log_interval steps and at the last of an epoch
};

struct EpochResult {
  int64_t epoch = 0;
  double train_loss = 0, seconds = 0, lr = 0;
  std::optional<EvalCounts> eval;
};

struct TrainerOptions {
  int64_t epochs = 1;
  int64_t max_steps = 0;  // 0: no bound
  int64_t log_interval = 50;
  std::filesystem::path output;  // summary.csv and model.safetensors go here; none when empty
  ScheduleOptions schedule;
  // Called after each step.
  std::function<void(const TrainProgress&)> on_step;
  // Called after each evaluated batch: how many are done, of how many.
  std::function<void(int64_t done, int64_t total)> on_eval_step;
  // Called after each epoch.
  std::function<void(const EpochResult&)> on_epoch;
};

// Trains until the epochs or the steps are done. `eval_loader` makes a fresh pass over the
// evaluation data, or is empty. Throws Error naming the step when the loss is not finite.
class Trainer {
 public:
  Trainer(const Model& model, TrainStep& step, const TrainerOptions& options);
  // Returns the result of every epoch.
  std::vector<EpochResult> run(data::Loader& train_data,
                               const std::function<std::unique_ptr<data::Loader>()>& eval_data);

 private:
  EpochResult run_epoch(int64_t epoch, data::Loader& loader);
  EvalCounts evaluate(data::Loader& loader);

  const Model& model_;
  TrainStep& step_;
  EvalStep eval_step_;
  TrainerOptions options_;
  int64_t completed_ = 0;  // steps whose loss has been read
};

}  // namespace centavo
