// Options of checkpoints and of going on with a run, and the signals that end one.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "centavo/train/trainer.h"

namespace centavo::cli {

inline constexpr int kExitInterrupted = 75;  // EX_TEMPFAIL: start again with --resume auto

struct CheckpointFlags {
  explicit CheckpointFlags(CLI::App& app);

  // Continues the run that --resume names, if any: fills `step` and returns where to go on.
  // `output`: the run's folder if the user named one; that of the resumed run otherwise.
  TrainerState resume_run(const Model& model, TrainStep& step, std::string& output) const;
  // Sets how checkpoints are written, and has SIGTERM and SIGUSR1 end the run with one.
  void apply(TrainerOptions& options) const;

 private:
  std::string resume_;
  bool no_resume_opt_ = false;
  int64_t hist_ = 10, recovery_interval_ = 0;
};

}  // namespace centavo::cli
