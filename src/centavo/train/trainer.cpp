// The loop. The loss of a step is read while the next one runs.
#include "centavo/train/trainer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "centavo/io/file.h"
#include "centavo/train/batch.h"

namespace centavo {
namespace {

// One row of timm's summary.csv.
void append_row(io::CsvWriter& summary, const EpochResult& r) {
  using Cell = io::CsvCell;
  auto evaluated = [&](double value) { return r.eval ? Cell(value) : Cell(); };
  summary.append({Cell(r.epoch), Cell(r.train_loss), evaluated(r.eval_loss()), evaluated(r.top1()),
                  evaluated(r.top5()), Cell(r.lr)});
}

}  // namespace

// A step that was launched: its loss is read while the next one runs.
struct Trainer::InFlight {
  Tensor loss, votes;
  double lr = 0, data_wait = 0;
};

Trainer::Trainer(const Model& model, TrainStep& step, const TrainerOptions& options)
    : model_(model),
      step_(step),
      eval_step_(model, step.options()),
      options_(options),
      state_(options.resume) {
  if (!options_.output.empty())
    checkpoints_.emplace(options_.output, options_.checkpoint_hist, options_.args);
  losses_.resume(state_.loss_sum, state_.loss_count);
}

std::vector<EpochResult> Trainer::run(
    data::Loader& train_data, const std::function<std::unique_ptr<data::Loader>()>& eval_data) {
  if (!done()) {
    // An epoch that is gone on with gets a new row.
    std::erase_if(state_.log_history,
                  [&](const EpochResult& r) { return r.epoch >= state_.epoch; });
  }
  if (!options_.output.empty()) begin_summary();
  while (!done()) {
    EpochResult result = run_epoch(train_data);
    if (eval_data && !stopping_) {
      std::unique_ptr<data::Loader> loader = eval_data();
      result.eval = evaluate(*loader);
    }
    if (stopping_) {
      save();
      return state_.log_history;
    }
    finish_epoch(result, train_data.batches_per_epoch());
  }
  if (!options_.output.empty())
    save_parameters(options_.output / "model.safetensors", model_, step_.parameters());
  return state_.log_history;
}

bool Trainer::done() const {
  if (state_.epoch >= options_.epochs) return true;
  if (options_.max_steps == 0 || state_.step < options_.max_steps) return false;
  // The last epoch may have stopped in its middle; it is done when it has been evaluated.
  return state_.batch == 0 ||
         (!state_.log_history.empty() && state_.log_history.back().epoch == state_.epoch);
}

void Trainer::begin_summary() {
  std::filesystem::remove(options_.output / "summary.csv");
  summary_.emplace(
      options_.output / "summary.csv",
      std::vector<std::string>{"epoch", "train_loss", "eval_loss", "eval_top1", "eval_top5", "lr"});
  for (const EpochResult& r : state_.log_history) append_row(*summary_, r);
}

EpochResult Trainer::run_epoch(data::Loader& loader) {
  TrainProgress progress;
  progress.epoch = state_.epoch;
  progress.step = state_.batch;
  progress.steps_in_epoch = loader.batches_per_epoch();
  if (options_.max_steps > 0) {
    progress.steps_in_epoch =
        std::min(progress.steps_in_epoch, state_.batch + options_.max_steps - state_.step);
  }
  seconds_.reset(), waits_.reset();
  Timer epoch_timer;
  since_completion_.restart();
  std::optional<InFlight> running;
  auto settle = [&] {
    if (running) complete(*running, progress);
    running.reset();
  };
  while (state_.batch < progress.steps_in_epoch && !stopping_) {
    InFlight next = launch(loader, progress);
    settle();
    running = next;
    if (options_.recovery_interval > 0 && state_.step % options_.recovery_interval == 0 &&
        state_.batch < progress.steps_in_epoch) {
      settle();
      if (!stopping_) save();
    }
  }
  settle();
  EpochResult result;
  result.epoch = state_.epoch;
  result.train_loss = losses_.mean();
  result.lr = learning_rate(options_.schedule, std::max<int64_t>(state_.step - 1, 0));
  result.seconds = epoch_timer.seconds();
  return result;
}

Trainer::InFlight Trainer::launch(data::Loader& loader, TrainProgress& progress) {
  std::shared_ptr<const data::Batch> batch = loader.next();
  CENTAVO_CHECK(batch, "the loader ended inside an epoch");
  CENTAVO_CHECK(batch->epoch() == state_.epoch && batch->index() == state_.batch,
                "batch {} of epoch {} where batch {} of epoch {} is due", batch->index(),
                batch->epoch(), state_.batch, state_.epoch);
  progress.batch_size = batch->size() * step_.options().ranks();
  InFlight running;
  running.data_wait = batch->wait_seconds();
  running.lr = learning_rate(options_.schedule, state_.step);
  if (options_.stop_requested) step_.vote(options_.stop_requested() ? 1 : 0);
  running.loss = step_.run(upload_images(*batch, step_.device()),
                           upload_labels(*batch, step_.device()), running.lr);
  running.votes = step_.votes();
  ++state_.batch;
  state_.step = step_.steps_done();
  state_.global_batch = progress.batch_size;
  return running;
}

void Trainer::complete(const InFlight& running, TrainProgress& progress) {
  progress.loss = item(running.loss);
  ++progress.step;
  if (!std::isfinite(progress.loss)) {
    const int64_t step = state_.step - (state_.batch - progress.step);
    throw Error("train", "the loss is {} at step {} (epoch {}); lower --lr, or add --warmup-steps",
                progress.loss, step, progress.epoch);
  }
  if (item(running.votes) > 0) stopping_ = true;
  losses_.add(progress.loss);
  seconds_.add(since_completion_.restart());
  waits_.add(running.data_wait);
  progress.mean_loss = losses_.mean();
  progress.step_seconds = seconds_.last(), progress.mean_step_seconds = seconds_.mean();
  progress.data_wait_seconds = waits_.last(), progress.mean_data_wait_seconds = waits_.mean();
  progress.lr = running.lr;
  progress.log_due =
      progress.step % options_.log_interval == 0 || progress.step == progress.steps_in_epoch;
  if (options_.on_step) options_.on_step(progress);
}

void Trainer::finish_epoch(const EpochResult& result, int64_t batches_per_epoch) {
  state_.log_history.push_back(result);
  const bool best = state_.best() == &state_.log_history.back();
  if (state_.batch == batches_per_epoch) {
    ++state_.epoch;
    state_.batch = 0;
    losses_.reset();
  }
  if (summary_) append_row(*summary_, result);
  if (options_.on_epoch) options_.on_epoch(result);
  save(best);
}

void Trainer::save(bool best) {
  state_.loss_sum = losses_.total();
  state_.loss_count = losses_.count();
  if (checkpoints_) checkpoints_->write(model_, step_, state_, best);
  // No rank leaves before the files are whole.
  if (stopping_ && step_.options().ranks() > 1) step_.options().group->barrier();
}

bool Trainer::any_rank(bool value) const {
  if (step_.options().ranks() == 1) return value;
  const auto& group = step_.options().group;
  std::vector<char> all(static_cast<size_t>(group->size()));
  const char mine = value ? 1 : 0;
  group->all_gather(&mine, all.data(), 1);
  return std::ranges::find(all, 1) != all.end();
}

EvalCounts Trainer::evaluate(data::Loader& loader) {
  EvalCounts total;
  int64_t done = 0;
  while (std::shared_ptr<const data::Batch> batch = loader.next()) {
    EvalCounts counts = eval_step_.run(step_.parameters(), upload_images(*batch, step_.device()),
                                       upload_labels(*batch, step_.device()));
    total.loss_sum += counts.loss_sum;
    total.samples += counts.samples;
    total.top1 += counts.top1;
    total.top5 += counts.top5;
    if (options_.on_eval_step) options_.on_eval_step(++done, loader.batches_per_epoch());
    if (options_.stop_requested && any_rank(options_.stop_requested())) {
      stopping_ = true;
      return total;
    }
  }
  if (const auto& group = step_.options().group; group && group->size() > 1) {
    std::array<double, 4> sums = {total.loss_sum, static_cast<double>(total.samples),
                                  static_cast<double>(total.top1), static_cast<double>(total.top5)};
    std::vector<std::array<double, 4>> all(static_cast<size_t>(group->size()));
    group->all_gather(sums.data(), all.data(), sizeof sums);
    total = {};
    for (const auto& [loss, samples, top1, top5] : all) {
      total.loss_sum += loss;
      total.samples += static_cast<int64_t>(samples);
      total.top1 += static_cast<int64_t>(top1);
      total.top5 += static_cast<int64_t>(top5);
    }
  }
  return total;
}

}  // namespace centavo
