// Checkpoint folders: written under a temporary name, flushed, then renamed.
#include "centavo/train/checkpoint.h"

#include <algorithm>
#include <charconv>

#include "centavo/io/file.h"

namespace centavo {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "checkpoint-";
constexpr const char* kModel = "model.safetensors";
constexpr const char* kOptimizer = "optimizer.safetensors";
constexpr const char* kState = "trainer_state.json";
constexpr const char* kArgs = "args.toml";
constexpr const char* kDone = "DONE";  // the completion mark, written last

// The step of "checkpoint-<step>", or -1 for another name.
int64_t step_of(const fs::path& path) {
  const std::string name = path.filename().string();
  if (!name.starts_with(kPrefix)) return -1;
  const char* begin = name.data() + std::string_view(kPrefix).size();
  const char* end = name.data() + name.size();
  int64_t step = -1;
  auto [stop, error] = std::from_chars(begin, end, step);
  return error == std::errc() && stop == end ? step : -1;
}

bool complete(const fs::path& checkpoint) {
  std::error_code ignored;
  return fs::exists(checkpoint / kDone, ignored);
}

// Complete checkpoints, oldest first.
std::vector<fs::path> checkpoints_of(const fs::path& output) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(output, ignored)) {
    if (step_of(entry.path()) >= 0 && complete(entry.path())) found.push_back(entry.path());
  }
  std::ranges::sort(found, {}, step_of);
  return found;
}

std::string shared_text(std::string text, dist::Group& group) {
  auto size = static_cast<int64_t>(text.size());
  group.broadcast(&size, sizeof size, 0);
  text.resize(static_cast<size_t>(size));
  group.broadcast(text.data(), size, 0);
  return text;
}

}  // namespace

CheckpointWriter::CheckpointWriter(fs::path output, int64_t keep, std::string args)
    : output_(std::move(output)), keep_(std::max<int64_t>(keep, 1)), args_(std::move(args)) {
  io::make_output_directory(output_);
  for (const auto& entry : fs::directory_iterator(output_)) {
    const std::string name = entry.path().filename().string();
    std::error_code ignored;
    if (name.starts_with(kPrefix) && name.find(io::kTemporaryMark) != name.npos)
      fs::remove_all(entry.path(), ignored);
  }
}

void CheckpointWriter::write(const Model& model, const TrainStep& step, const TrainerState& state,
                             bool best) {
  const std::string name = kPrefix + std::to_string(state.step);
  io::AtomicDirectory directory(output_ / name);
  const fs::path& folder = directory.temporary();
  save_parameters(folder / kModel, model, step.parameters());
  save_tensors(folder / kOptimizer, step.state_names(), step.state());
  io::atomic_write_file(folder / kState, to_json(state));
  if (!args_.empty()) io::atomic_write_file(folder / kArgs, args_);
  io::atomic_write_file(folder / kDone, "");
  directory.commit();
  io::replace_symlink(name, output_ / "last");
  if (best) io::replace_symlink(name, output_ / "model_best");
  prune();
}

void CheckpointWriter::prune() const {
  std::vector<fs::path> all = checkpoints_of(output_);
  std::error_code ignored;
  const fs::path best = fs::read_symlink(output_ / "model_best", ignored);
  const auto surplus = std::max<int64_t>(static_cast<int64_t>(all.size()) - keep_, 0);
  for (int64_t i = 0; i < surplus; ++i) {
    const fs::path& old = all[static_cast<size_t>(i)];
    if (old.filename() == best) continue;
    // The mark goes first, so that half a checkpoint never looks whole.
    fs::remove(old / kDone, ignored);
    fs::remove_all(old, ignored);
  }
}

fs::path newest_checkpoint(const fs::path& output) {
  std::vector<fs::path> all = checkpoints_of(output);
  return all.empty() ? fs::path() : all.back();
}

fs::path find_checkpoint(const fs::path& path) {
  if (complete(path)) return path;
  if (!fs::is_directory(path))
    throw Error("resume", "there is no folder {}; pass a checkpoint or the --output of a run",
                path.string());
  fs::path newest = newest_checkpoint(path);
  if (newest.empty()) {
    throw Error("resume", "{} holds no complete checkpoint{}", path.string(),
                step_of(path) >= 0 ? " (no DONE in it); pass another" : "; pass another folder");
  }
  return newest;
}

TrainerState load_checkpoint(const fs::path& checkpoint, const Model& model, TrainStep& step,
                             bool with_optimizer) {
  const auto& group = step.options().group;
  std::string text;
  if (!group || group->rank() == 0) {
    text = io::read_file(checkpoint / kState);
    load_parameters(checkpoint / kModel, model, step);
    if (with_optimizer) {
      load_tensors(checkpoint / kOptimizer, step.state_names(), step.state(),
                   [&](size_t i, const std::vector<float>& values) { step.set_state(i, values); });
    }
  }
  if (group && group->size() > 1) text = shared_text(std::move(text), *group);
  step.broadcast();
  TrainerState state = trainer_state_from_json(text, checkpoint / kState);
  step.set_steps_done(state.step);
  return state;
}

}  // namespace centavo
