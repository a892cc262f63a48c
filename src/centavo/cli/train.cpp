// centavo train: header, one line a log interval, evaluation per epoch, summary.csv, final weights.
#include <ctime>

#include "centavo/base/log.h"
#include "centavo/base/text.h"
#include "centavo/base/timer.h"
#include "centavo/cli/checkpoint_flags.h"
#include "centavo/cli/commands.h"
#include "centavo/cli/config_file.h"
#include "centavo/cli/data_flags.h"
#include "centavo/cli/input_bound.h"
#include "centavo/cli/options.h"
#include "centavo/cli/progress.h"
#include "centavo/data/classes.h"
#include "centavo/io/json.h"
#include "centavo/train/meter.h"
#include "centavo/train/trainer.h"

namespace centavo::cli {
namespace {

struct TrainFlags {
  explicit TrainFlags(CLI::App& app)
      : model(app), data(app, ""), optimizer(app, "adam"), device(app), checkpoints(app) {
    add_value(app, "Data", "-b,--batch-size", batch_size, "N", "Samples a step")->check(positive());
    add_value(app, "Data", "-j,--workers", workers, "N", "Loader threads; 0 loads between steps")
        ->check(non_negative());
    add_value(app, "Training", "--epochs", epochs, "N", "Passes over the training data")
        ->check(positive());
    add_value(app, "Training", "--max-steps", max_steps, "N",
              "Stop after so many steps; 0: no bound")
        ->check(non_negative());
    add_value(app, "Training", "--smoothing", smoothing, "P", "Label smoothing")
        ->check(probability());
    add_value(app, "Training", "--seed", seed, "N", "Seed of weights, data order and dropout")
        ->check(non_negative());
    add_value(app, "Optimizer", "--sched", schedule, "NAME",
              "Learning-rate schedule: constant or cosine")
        ->check(known_name("schedule", schedule_names()));
    add_value(app, "Optimizer", "--warmup-steps", warmup_steps, "N", "Steps of linear warm-up")
        ->check(non_negative());
    add_value(app, "Optimizer", "--min-lr", min_lr, "X", "Learning rate at the end of the cosine");
    add_value(app, "Output", "-o,--output", output, "DIR",
              "Folder for checkpoints, summary.csv and weights (default output/TIME-MODEL)");
    add_value(app, "Output", "--log-interval", log_interval, "N", "Steps between log lines")
        ->check(positive());
    add_precision(app, precision);
    add_format(app, format);
    add_config_file(app);
  }

  ModelFlags model;
  DataFlags data;
  OptimizerFlags optimizer;
  DeviceFlags device;
  CheckpointFlags checkpoints;
  std::string precision = "bf16-mixed", schedule = "constant", output;
  int64_t batch_size = 128, epochs = 10, max_steps = 0, warmup_steps = 0, log_interval = 50;
  int workers = data::default_workers();
  double min_lr = 0, smoothing = 0;
  uint64_t seed = 42;
  Format format = Format::kTable;
};

std::string default_output(const std::string& model) {
  char stamp[32];
  std::time_t now = std::time(nullptr);
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", std::localtime(&now));
  return fmt::format("output/{}-{}", stamp, model);
}

// timm's form: Train: 3 [  50/97 ( 52%)]  Loss: 1.23 (1.31)  Time: ...
std::string log_line_of(const TrainProgress& p) {
  auto rate = [&](double seconds) {
    return seconds > 0 ? static_cast<double>(p.batch_size) / seconds : 0;
  };
  return fmt::format(
      "Train: {} [{:>4}/{} ({:>3.0f}%)]  Loss: {:.4g} ({:.4g})  Time: {:.3f}s, {:.1f}/s ({:.3f}s, "
      "{:.1f}/s)  LR: {:.3e}  Data: {:.3f} ({:.3f})",
      p.epoch, p.step, p.steps_in_epoch,
      100.0 * static_cast<double>(p.step) / static_cast<double>(p.steps_in_epoch), p.loss,
      p.mean_loss, p.step_seconds, rate(p.step_seconds), p.mean_step_seconds,
      rate(p.mean_step_seconds), p.lr, p.data_wait_seconds, p.mean_data_wait_seconds);
}

double percent(int64_t part, int64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

void print_header(const TrainFlags& f, const Model& model, const data::Dataset& train_set,
                  const data::Dataset& eval_set, const Device& device, const OptimizerOptions& o) {
  auto row = [](const char* key, const std::string& value) {
    fmt::print("{:<12}{}\n", key, value);
  };
  row("model", fmt::format("{} ({} parameters)", model.name(),
                           with_thousands(model.parameters().trainable_elements())));
  row("data",
      fmt::format("{}: {} training and {} evaluation samples of {}, {} classes", train_set.name(),
                  with_thousands(train_set.size()), with_thousands(eval_set.size()),
                  to_string(model.input_shape()), model.num_classes()));
  row("device", fmt::format("{}: {}", device->name(), device->description()));
  row("precision", f.precision);
  row("optimizer", fmt::format("{}, lr {}, weight decay {}, {} schedule", f.optimizer.name, o.lr,
                               o.weight_decay, f.schedule));
  const int ranks = f.device.group->size();
  row("batch", fmt::format("{} samples{}, {} loader thread{}", f.batch_size,
                           ranks > 1 ? fmt::format(" on each of {} ranks, {} in all", ranks,
                                                   f.batch_size * ranks)
                                     : "",
                           f.workers, f.workers == 1 ? "" : "s"));
  row("output", f.output);
}

io::Json json_of(const EpochResult& r) {
  io::Json json = {
      {"epoch", r.epoch}, {"train_loss", r.train_loss}, {"seconds", r.seconds}, {"lr", r.lr}};
  if (r.eval) {
    json["eval_loss"] = r.eval->loss_sum / static_cast<double>(r.eval->samples);
    json["eval_top1"] = percent(r.eval->top1, r.eval->samples);
    json["eval_top5"] = percent(r.eval->top5, r.eval->samples);
  }
  return json;
}

// `args`: the content of args.toml.
int run_train(TrainFlags f, const std::string& args) {
  auto train_set = f.data.open(f.model.options, data::Split::kTrain);
  auto eval_set = f.data.open(f.model.options, data::Split::kEval);
  Device device = f.device.open();
  std::unique_ptr<Model> model = f.model.make(train_set.get());
  std::unique_ptr<Optimizer> optimizer = f.optimizer.make();
  OptimizerOptions optimizer_options = f.optimizer.resolved();
  const auto& group = f.device.group;
  data::LoaderOptions loading{.batch_size = f.batch_size,
                              .workers = f.workers,
                              .seed = f.seed,
                              .rank = group->rank(),
                              .world = group->size()};
  StepOptions step_options{precision_from_name(f.precision),
                           f.smoothing,
                           f.seed,
                           device,
                           group,
                           static_cast<int64_t>(f.device.bucket_mib * (1 << 20)),
                           f.data.mix.enabled()};
  TrainStep step(*model, *optimizer, step_options);
  TrainerState resume = f.checkpoints.resume_run(*model, step, f.output);
  resume.rescale(f.batch_size * group->size());
  data::LoaderOptions training = loading;
  training.mix = f.data.mix;
  training.first_epoch = resume.epoch, training.first_batch = resume.batch;
  data::Loader loader(train_set, training);
  if (f.output.empty()) f.output = default_output(model->name());
  const bool table = f.format == Format::kTable;
  if (table) print_header(f, *model, *train_set, *eval_set, device, optimizer_options);

  ProgressBar bar(table && on_terminal());
  TrainerOptions options;
  f.checkpoints.apply(options);
  options.resume = resume;
  options.args = args;
  options.epochs = f.epochs;
  options.max_steps = f.max_steps;
  options.log_interval = f.log_interval;
  if (group->rank() == 0) options.output = f.output;  // the files are rank 0's
  const int64_t total = f.epochs * loader.batches_per_epoch();
  options.schedule = {f.schedule,     optimizer_options.lr,
                      f.min_lr,       0,
                      f.warmup_steps, f.max_steps > 0 ? std::min(total, f.max_steps) : total};
  std::string input_bound;  // said once
  auto watch_input = [&](const TrainProgress& p) {
    constexpr int64_t kFewSteps = 10;
    if (p.step != p.steps_in_epoch || p.step < kFewSteps || !input_bound.empty()) return;
    input_bound = input_bound_message(p.mean_data_wait_seconds, p.mean_step_seconds, f.workers);
    if (input_bound.empty()) return;
    bar.clear();
    log_warning("{}", input_bound);
  };
  options.on_step = [&](const TrainProgress& p) {
    if (table && p.log_due) {
      bar.clear();
      fmt::print("{}\n", log_line_of(p));
      std::fflush(stdout);
    }
    bar.update(fmt::format("Epoch {}", p.epoch), p.step, p.steps_in_epoch);
    watch_input(p);
  };
  options.on_eval_step = [&](int64_t done, int64_t batches) {
    bar.update("Evaluation", done, batches);
  };
  options.on_epoch = [&](const EpochResult& r) {
    bar.clear();
    if (!table) {
      fmt::print("{}\n", json_of(r).dump());
    } else if (r.eval) {
      fmt::print("Eval:  {}  Loss: {:.4f}  Acc@1: {:.2f}  Acc@5: {:.2f}  Epoch: {}\n", r.epoch,
                 r.eval->loss_sum / static_cast<double>(r.eval->samples),
                 percent(r.eval->top1, r.eval->samples), percent(r.eval->top5, r.eval->samples),
                 human_seconds(r.seconds));
    }
    std::fflush(stdout);
  };
  Trainer trainer(*model, step, options);
  if (group->rank() == 0) {
    io::atomic_write_file(f.output + "/args.toml", args);
    if (const auto classes = train_set->class_names(); !classes.empty())
      data::write_classes(f.output + "/classes.txt", classes);
  }
  if (table)
    fmt::print(
        "compiled    {} in {}, {} planned\n\n", "the training step",
        human_seconds(step.executable(f.batch_size).info().compile_seconds),
        human_bytes(static_cast<double>(step.executable(f.batch_size).info().planned_bytes())));
  auto eval_loader = [&] {
    data::LoaderOptions o = loading;
    o.shuffle = o.drop_last = false;
    o.epochs = 1;
    return std::make_unique<data::Loader>(eval_set, o);
  };
  std::vector<EpochResult> results = trainer.run(loader, eval_loader);
  if (const int64_t broken = train_set->broken_samples() + eval_set->broken_samples(); broken > 0)
    log_warning("{} broken image{} left out", broken, broken == 1 ? " was" : "s were");
  if (trainer.interrupted()) {
    log_info("stopped on request after step {}; --resume {} goes on", step.steps_done(), f.output);
    return kExitInterrupted;
  }
  if (table && !results.empty() && results.back().eval) {
    auto best = std::max_element(
        results.begin(), results.end(),
        [](const EpochResult& a, const EpochResult& b) { return a.eval->top1 < b.eval->top1; });
    fmt::print("*** Best metric: {:.2f} (epoch {})\n",
               percent(best->eval->top1, best->eval->samples), best->epoch);
    fmt::print("weights in {}/model.safetensors\n", f.output);
  }
  return 0;
}

}  // namespace

std::function<int()> set_up_train(CLI::App& app) {
  auto flags = std::make_shared<TrainFlags>(app);
  app.footer(
      "Example: centavo train --model vit_tiny_patch16_224 --img-size 28 --patch-size 7 \\\n"
      "           --dataset idx:/usr/share/datasets/fashion-mnist --epochs 5");
  return [flags, &app] { return run_train(*flags, args_toml(app)); };
}

}  // namespace centavo::cli
