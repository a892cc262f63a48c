// The loop. The loss of a step is read while the next one runs.
#include "centavo/train/trainer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "centavo/base/timer.h"
#include "centavo/io/csv.h"
#include "centavo/io/file.h"
#include "centavo/train/batch.h"
#include "centavo/train/meter.h"

namespace centavo {
namespace {

double percent(int64_t hits, int64_t samples) {
  return samples > 0 ? 100.0 * static_cast<double>(hits) / static_cast<double>(samples) : 0;
}

}  // namespace

Trainer::Trainer(const Model& model, TrainStep& step, const TrainerOptions& options)
    : model_(model), step_(step), eval_step_(model, step.options()), options_(options) {
  if (!options_.output.empty()) io::make_output_directory(options_.output);
}

std::vector<EpochResult> Trainer::run(
    data::Loader& train_data, const std::function<std::unique_ptr<data::Loader>()>& eval_data) {
  std::optional<io::CsvWriter> summary;
  if (!options_.output.empty()) {
    std::filesystem::remove(options_.output / "summary.csv");
    summary.emplace(options_.output / "summary.csv",
                    std::vector<std::string>{"epoch", "train_loss", "eval_loss", "eval_top1",
                                             "eval_top5", "lr"});
  }
  std::vector<EpochResult> results;
  for (int64_t epoch = 0; epoch < options_.epochs; ++epoch) {
    EpochResult result = run_epoch(epoch, train_data);
    if (eval_data) {
      std::unique_ptr<data::Loader> loader = eval_data();
      result.eval = evaluate(*loader);
    }
    if (summary) {
      using Cell = io::CsvCell;
      const auto& e = result.eval;
      summary->append({Cell(epoch), Cell(result.train_loss),
                       e ? Cell(e->loss_sum / static_cast<double>(e->samples)) : Cell(),
                       e ? Cell(percent(e->top1, e->samples)) : Cell(),
                       e ? Cell(percent(e->top5, e->samples)) : Cell(), Cell(result.lr)});
    }
    results.push_back(result);
    if (options_.on_epoch) options_.on_epoch(result);
    if (options_.max_steps > 0 && step_.steps_done() >= options_.max_steps) break;
  }
  if (!options_.output.empty())
    save_parameters(options_.output / "model.safetensors", model_, step_.parameters());
  return results;
}

EpochResult Trainer::run_epoch(int64_t epoch, data::Loader& loader) {
  EpochResult result;
  result.epoch = epoch;
  TrainProgress progress;
  progress.epoch = epoch;
  progress.steps_in_epoch = loader.batches_per_epoch();
  if (options_.max_steps > 0)
    progress.steps_in_epoch =
        std::min(progress.steps_in_epoch, options_.max_steps - step_.steps_done());
  AverageMeter losses, seconds, waits;
  Timer epoch_timer, since_completion;
  Tensor pending;
  auto complete = [&](double lr) {
    progress.loss = item(pending);
    ++progress.step;
    ++completed_;
    if (!std::isfinite(progress.loss)) {
      throw Error("train",
                  "the loss is {} at step {} (epoch {}); lower --lr, or add --warmup-steps",
                  progress.loss, completed_, epoch);
    }
    losses.add(progress.loss);
    seconds.add(since_completion.restart());
    progress.mean_loss = losses.mean();
    progress.step_seconds = seconds.last(), progress.mean_step_seconds = seconds.mean();
    progress.lr = lr;
    progress.log_due =
        progress.step % options_.log_interval == 0 || progress.step == progress.steps_in_epoch;
    if (options_.on_step) options_.on_step(progress);
  };
  double lr = 0;
  for (int64_t i = 0; i < progress.steps_in_epoch; ++i) {
    std::shared_ptr<const data::Batch> batch = loader.next();
    CENTAVO_CHECK(batch, "the loader ended inside an epoch");
    waits.add(batch->wait_seconds());
    progress.batch_size = batch->size() * step_.options().ranks();
    const double previous_lr = lr;
    lr = learning_rate(options_.schedule, step_.steps_done());
    Tensor loss =
        step_.run(upload_images(*batch, step_.device()), upload_labels(*batch, step_.device()), lr);
    if (pending.defined()) complete(previous_lr);
    progress.data_wait_seconds = waits.last(), progress.mean_data_wait_seconds = waits.mean();
    pending = loss;
  }
  if (pending.defined()) complete(lr);
  result.train_loss = losses.mean();
  result.lr = lr;
  result.seconds = epoch_timer.seconds();
  return result;
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
  }
  if (const auto& group = step_.options().group; group && group->size() > 1) {
    std::array<double, 4> sums = {total.loss_sum, static_cast<double>(total.samples),
                                  static_cast<double>(total.top1),
                                  static_cast<double>(total.top5)};
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
