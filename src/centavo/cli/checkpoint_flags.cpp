#include "centavo/cli/checkpoint_flags.h"

#include <csignal>

#include "centavo/base/log.h"
#include "centavo/cli/options.h"

namespace centavo::cli {
namespace {

volatile std::sig_atomic_t stop_signal = 0;

// SIGUSR1 too: mpirun passes it on to its ranks (SIGTERM it does not), and Slurm can send it ahead
// of a time limit.
void stop_on_signals() {
  for (int signal : {SIGTERM, SIGUSR1}) std::signal(signal, [](int) { stop_signal = 1; });
}

}  // namespace

CheckpointFlags::CheckpointFlags(CLI::App& app) {
  add_value(app, "Checkpoints", "--resume", resume_, "auto|PATH",
            "Go on from a checkpoint, a run's folder, or (auto) --output's newest if it has one");
  app.add_flag("--no-resume-opt", no_resume_opt_, "Resume the weights without optimizer state")
      ->group("Checkpoints");
  add_value(app, "Checkpoints", "--checkpoint-hist", hist_, "N",
            "Checkpoints to keep, besides the best")
      ->check(positive());
  add_value(app, "Checkpoints", "--recovery-interval", recovery_interval_, "N",
            "Steps between checkpoints; 0: one at each epoch's end alone")
      ->check(non_negative());
}

TrainerState CheckpointFlags::resume_run(const Model& model, TrainStep& step,
                                         std::string& output) const {
  if (resume_.empty()) return {};
  std::filesystem::path checkpoint;
  if (resume_ == "auto") {
    if (output.empty())
      throw Error("resume", "auto looks for checkpoints in --output; pass --output DIR too");
    checkpoint = newest_checkpoint(output);
    if (checkpoint.empty()) {
      log_info("no checkpoint in {} yet: starting anew", output);
      return {};
    }
  } else {
    checkpoint = find_checkpoint(resume_);
  }
  TrainerState state = load_checkpoint(checkpoint, model, step, !no_resume_opt_);
  if (output.empty()) output = std::filesystem::absolute(checkpoint).parent_path().string();
  log_info("resumed from {} at step {} (epoch {})", checkpoint.string(), state.step, state.epoch);
  return state;
}

void CheckpointFlags::apply(TrainerOptions& options) const {
  options.checkpoint_hist = hist_;
  options.recovery_interval = recovery_interval_;
  options.stop_requested = [] { return stop_signal != 0; };
  stop_on_signals();
  // A file that grows past `ulimit -f` fails to be written, with a message; it does not end us.
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace centavo::cli
