// centavo launch: a loop round mpirun that goes on from the last checkpoint when a job fails.
#include <algorithm>
#include <filesystem>
#include <optional>

#include "centavo/base/log.h"
#include "centavo/base/text.h"
#include "centavo/cli/checkpoint_flags.h"
#include "centavo/cli/child_process.h"
#include "centavo/cli/commands.h"
#include "centavo/cli/mpirun_log.h"
#include "centavo/cli/options.h"
#include "centavo/train/checkpoint.h"

namespace centavo::cli {
namespace {

constexpr int kExitUsage = 2, kExitNotFound = 127;

struct LaunchFlags {
  explicit LaunchFlags(CLI::App& app) {
    add_value(app, "Ranks", "-n,--ranks", ranks, "N", "Processes that train together")
        ->check(positive());
    add_value(app, "Ranks", "--mpirun", mpirun, "WORDS",
              "The launcher with its own options: 'mpirun --hostfile hosts'");
    add_value(app, "Restarts", "--max-restarts", max_restarts, "K",
              "Times that a failed job is started again, from its last checkpoint")
        ->check(non_negative());
    app.add_option("--min-ranks", min_ranks,
                   "Where a job failed without a new checkpoint, take a rank less, down to N "
                   "(default: never fewer)")
        ->type_name("N")
        ->check(positive())
        ->group("Restarts");
    app.add_option("COMMAND", command, "What the ranks run, after `--`: train and its options")
        ->required()
        ->type_name("-- COMMAND...");
  }
  int ranks = 2, max_restarts = 0;
  std::optional<int> min_ranks;
  std::string mpirun = "mpirun";
  std::vector<std::string> command;
};

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words = split(text, ' ');
  std::erase(words, "");
  return words;
}

// Takes `--name VALUE` and `--name=VALUE` out of `words`; returns the value if there was one.
std::optional<std::string> take_option(std::vector<std::string>& words, const std::string& name) {
  for (auto word = words.begin(); word != words.end(); ++word) {
    const bool joined = word->starts_with(name + "=");
    if (!joined && (*word != name || std::next(word) == words.end())) continue;
    const std::string value = joined ? word->substr(name.size() + 1) : *std::next(word);
    words.erase(word, word + (joined ? 1 : 2));
    return value;
  }
  return {};
}

// The training command of the job, as first started and as gone on with.
class TrainCommand {
 public:
  explicit TrainCommand(std::vector<std::string> words) : words_(std::move(words)) {
    std::optional<std::string> output = take_option(words_, "--output");
    if (!output) output = take_option(words_, "-o");
    if (!output)
      throw Error("launch",
                  "pass --output DIR to train: a restart looks for its checkpoints there");
    output_ = *output;
    resume_ = take_option(words_, "--resume").value_or("auto");
    at_start_ = newest();
  }
  std::filesystem::path newest() const { return newest_checkpoint(output_); }
  // Goes on from the newest checkpoint in the folder; the user's own --resume holds until the job
  // has written one.
  std::vector<std::string> words() const {
    std::vector<std::string> words = words_;
    words.insert(words.end(),
                 {"--output", output_, "--resume", newest() == at_start_ ? resume_ : "auto"});
    return words;
  }

 private:
  std::vector<std::string> words_;
  std::string output_, resume_;
  std::filesystem::path at_start_;
};

int run_once(const LaunchFlags& f, int ranks, const std::vector<std::string>& words) {
  std::vector<std::string> command = words_of(f.mpirun);
  command.insert(command.end(),
                 {"-n", std::to_string(ranks), std::filesystem::read_symlink("/proc/self/exe")});
  command.insert(command.end(), words.begin(), words.end());
  MpirunLog log([](std::string_view line) { fmt::print(stderr, "{}\n", line); });
  return run_child(command, [&](std::string_view line) { log.add(line); });
}

bool worth_a_restart(int code) {
  return code != 0 && code != kExitUsage && code != kExitNotFound && code != kExitInterrupted;
}

int run_launch(const LaunchFlags& f) {
  if (words_of(f.mpirun).empty()) throw Error("launch", "--mpirun is empty; leave it out");
  if (f.command.front() != "train")
    throw Error("launch", "runs `train`, not '{}'; use mpirun itself for that", f.command.front());
  const int least = f.min_ranks.value_or(f.ranks);
  if (least > f.ranks) throw Error("launch", "--min-ranks {} is more than -n {}", least, f.ranks);
  catch_stop_signals();
  const TrainCommand train(f.command);
  int ranks = f.ranks;
  for (int restarts = 0;; ++restarts) {
    const std::filesystem::path before = train.newest();
    const int code = run_once(f, ranks, train.words());
    if (child_stop_requested() && code != 0) return kExitInterrupted;
    if (!worth_a_restart(code)) return code;
    if (restarts == f.max_restarts) {
      fmt::print(stderr, "centavo launch: failed after {} restart{}\n", restarts,
                 restarts == 1 ? "" : "s");
      return 1;
    }
    const std::filesystem::path newest = train.newest();
    if (newest == before) ranks = std::max(least, ranks - 1);
    log_info("restart {} of {} with {} rank{}, {}", restarts + 1, f.max_restarts, ranks,
             ranks == 1 ? "" : "s",
             newest.empty() ? "from the beginning" : "from " + newest.string());
  }
}

}  // namespace

std::function<int()> set_up_launch(CLI::App& app) {
  auto flags = std::make_shared<LaunchFlags>(app);
  app.footer(
      "Example: centavo launch -n 4 --max-restarts 3 -- train --model vit_tiny_patch16_224 \\\n"
      "           --dataset fake --recovery-interval 100 --output run");
  return [flags] { return run_launch(*flags); };
}

}  // namespace centavo::cli
