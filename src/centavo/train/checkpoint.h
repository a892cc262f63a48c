// Checkpoints: folders `checkpoint-<step>` from which a run continues as if it had never stopped.
// Each holds model.safetensors, optimizer.safetensors, trainer_state.json, args.toml and DONE, and
// appears under its name only when it is whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "centavo/train/step.h"

namespace centavo {

struct EpochResult {
  int64_t epoch = 0;
  double train_loss = 0, seconds = 0, lr = 0;
  std::optional<EvalCounts> eval;

  // Share of evaluated samples in percent; 0 without an evaluation.
  double top1() const;
  double top5() const;
  double eval_loss() const;
};

// What the loop knows between two steps besides the weights: trainer_state.json.
struct TrainerState {
  int64_t step = 0;              // optimizer updates done
  int64_t epoch = 0, batch = 0;  // where the next batch lies
  int64_t global_batch = 0;      // samples of a batch over all ranks
  // Losses of the epoch so far.
  double loss_sum = 0;
  int64_t loss_count = 0;
  std::vector<EpochResult> log_history;  // of the epochs done

  // The epoch with the highest top-1, the earliest of equals; null before any evaluation.
  const EpochResult* best() const;
  // The same place in the data when a batch has `samples` over all ranks.
  void rescale(int64_t samples);
};

std::string to_json(const TrainerState& state);
// Throws Error naming `path` when the text is no trainer state.
TrainerState trainer_state_from_json(const std::string& text, const std::filesystem::path& path);

// The checkpoints of one output folder. Keeps the newest `keep` and the best; `last` and
// `model_best` are symbolic links to the newest and the best.
class CheckpointWriter {
 public:
  // Removes what a killed run left half written. `args`: the content of args.toml.
  CheckpointWriter(std::filesystem::path output, int64_t keep, std::string args);
  // `best`: the latest epoch is the best so far. Throws Error when the disk fails or is full; what
  // was there before is still there then.
  void write(const Model& model, const TrainStep& step, const TrainerState& state, bool best);

 private:
  void prune() const;

  std::filesystem::path output_;
  int64_t keep_;
  std::string args_;
};

// The newest complete checkpoint of an output folder; empty when there is none.
std::filesystem::path newest_checkpoint(const std::filesystem::path& output);
// `path` is a checkpoint or an output folder, of which the newest is taken. Throws Error when
// there is no complete checkpoint.
std::filesystem::path find_checkpoint(const std::filesystem::path& path);

// Reads the checkpoint into `step` on rank 0 and shares it with the other ranks, which must all
// call this. Throws Error naming what does not fit the model or optimizer. Without
// `with_optimizer` the optimizer's state stays as it is.
TrainerState load_checkpoint(const std::filesystem::path& checkpoint, const Model& model,
                             TrainStep& step, bool with_optimizer = true);

}  // namespace centavo
