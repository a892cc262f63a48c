// The training loop: epochs of steps, evaluation and a checkpoint after each, logs and final
// weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "centavo/base/timer.h"
#include "centavo/data/loader.h"
#include "centavo/io/csv.h"
#include "centavo/optim/schedule.h"
#include "centavo/train/checkpoint.h"
#include "centavo/train/meter.h"

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

struct TrainerOptions {
  int64_t epochs = 1;
  int64_t max_steps = 0;  // 0: no bound
  int64_t log_interval = 50;
  // summary.csv, checkpoints and model.safetensors go here; none when empty. Of several ranks only
  // one has it.
  std::filesystem::path output;
  int64_t checkpoint_hist = 10;   // how many checkpoints are kept besides the best
  int64_t recovery_interval = 0;  // steps between checkpoints inside an epoch; 0: none
  std::string args;               // content of the checkpoints' args.toml
  // Where to go on: what load_checkpoint() gave.
  TrainerState resume;
  // True when the run is to stop at the next step with a checkpoint. Every rank stops when one has
  // it.
  std::function<bool()> stop_requested;
  ScheduleOptions schedule;
  // Called after each step.
  std::function<void(const TrainProgress&)> on_step;
  // Called after each evaluated batch: how many are done, of how many.
  std::function<void(int64_t done, int64_t total)> on_eval_step;
  // Called after each epoch.
  std::function<void(const EpochResult&)> on_epoch;
};

// Trains until the epochs or the steps are done, or a stop is requested. Throws Error naming the
// step when the loss is not finite.
class Trainer {
 public:
  Trainer(const Model& model, TrainStep& step, const TrainerOptions& options);
  // `train_data` must begin where the resumed run stopped (its first_epoch and first_batch).
  // `eval_loader` makes a fresh pass over the evaluation data, or is empty. Returns the result of
  // every epoch, those before a resumption too.
  std::vector<EpochResult> run(data::Loader& train_data,
                               const std::function<std::unique_ptr<data::Loader>()>& eval_data);
  // After run(): it stopped on request, before the end.
  bool interrupted() const { return stopping_; }

 private:
  struct InFlight;

  bool done() const;
  void begin_summary();
  EpochResult run_epoch(data::Loader& loader);
  InFlight launch(data::Loader& loader, TrainProgress& progress);
  void complete(const InFlight& running, TrainProgress& progress);
  EvalCounts evaluate(data::Loader& loader);
  void finish_epoch(const EpochResult& result, int64_t batches_per_epoch);
  void save(bool best = false);
  bool any_rank(bool value) const;

  const Model& model_;
  TrainStep& step_;
  EvalStep eval_step_;
  TrainerOptions options_;
  TrainerState state_;
  std::optional<CheckpointWriter> checkpoints_;
  std::optional<io::CsvWriter> summary_;
  AverageMeter losses_;  // of the epoch
  AverageMeter seconds_, waits_;
  Timer since_completion_;
  bool stopping_ = false;
};

}  // namespace centavo
