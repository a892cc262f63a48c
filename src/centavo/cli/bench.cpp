// centavo bench: the published experiment on this machine.
#include "centavo/train/bench.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <unistd.h>

#include "centavo/base/text.h"
#include "centavo/cli/bench_comm.h"
#include "centavo/cli/commands.h"
#include "centavo/cli/data_flags.h"
#include "centavo/cli/options.h"
#include "centavo/cli/progress.h"
#include "centavo/cli/table.h"
#include "centavo/fleet/imds.h"
#include "centavo/fleet/rows.h"
#include "centavo/io/json.h"

namespace centavo::cli {
namespace {

struct BenchFlags {
  explicit BenchFlags(CLI::App& app)
      : model(app), data(app, "fake"), optimizer(app, "adam"), device(app), comm(app) {
    add_value(app, "Data", "-b,--batch-size", options.batch_size, "N", "Samples a step")
        ->check(positive());
    add_value(app, "Data", "-j,--workers", workers, "N", "Loader threads; 0 loads between steps")
        ->check(non_negative());
    add_value(app, "Measurement", "--steps", options.steps, "N", "Measured steps at most")
        ->check(positive());
    add_value(app, "Measurement", "--warmup", options.warmup, "N", "Steps left out")
        ->check(non_negative());
    add_value(app, "Measurement", "--max-seconds", options.max_seconds, "S",
              "Measured seconds at most")
        ->check(positive());
    add_value(app, "Training", "--seed", seed, "N", "Seed of weights and data")
        ->check(non_negative());
    app.add_option("--record", record,
                   "Also append the result as a row for compare --measured and fleet calibrate")
        ->type_name("FILE.jsonl")
        ->check(CLI::Validator(
            [](std::string& path) {
              return path.ends_with(".jsonl")
                         ? std::string()
                         : fmt::format("'{}' must end in .jsonl: one JSON object a line", path);
            },
            ""))
        ->group("Output");
    app.add_flag("--profile", options.profile, "Also show where the device's time goes, by op")
        ->group("Output");
    add_precision(app, precision);
    add_format(app, format);
  }

  ModelFlags model;
  DataFlags data;
  OptimizerFlags optimizer;
  DeviceFlags device;
  CommBenchFlags comm;
  BenchOptions options;
  std::string precision = "bf16-mixed";
  std::string record;
  int workers = data::default_workers();
  uint64_t seed = 42;
  Format format = Format::kTable;
};

io::Json json_of(const BenchFlags& f, const Model& model, int threads, const BenchResult& r) {
  return {{"model", model.name()},
          {"params", model.parameters().trainable_elements()},
          {"batch_size", f.options.batch_size},
          {"precision", f.precision},
          {"device", f.device.name},
          {"threads", threads},
          {"ranks", f.device.group->size()},
          {"workers", f.workers},
          {"steps", r.steps},
          {"step_seconds", r.step.median},
          {"step_seconds_mean", r.step.mean},
          {"step_seconds_ci95", r.step.ci95},
          {"samples_per_second", r.samples_per_second},
          {"tflops", r.tflops},
          {"data_wait_seconds", r.data_wait.mean},
          {"host_seconds", r.host.mean},
          {"device_seconds", r.device.mean},
          {"compile_seconds", r.compile_seconds},
          {"compiles", r.compiles},
          {"cache_hits", r.cache_hits},
          {"peak_memory_mib", r.peak_memory_mib},
          {"planned_memory_mib", r.planned_memory_mib},
          {"losses", r.losses}};
}

void print_result(const BenchFlags& f, const Model& model, const Device& device,
                  const BenchResult& r) {
  auto row = [](const char* key, const std::string& value) {
    fmt::print("{:<14}{}\n", key, value);
  };
  auto share = [&](const Summary& part) {
    return fmt::format("{} ({:.1f} %)", human_seconds(part.mean),
                       r.step.mean > 0 ? 100 * part.mean / r.step.mean : 0);
  };
  row("model", fmt::format("{} ({} parameters)", model.name(),
                           with_thousands(model.parameters().trainable_elements())));
  row("device", fmt::format("{}: {}", device->name(), device->description()));
  if (f.device.group->size() > 1)
    row("ranks", fmt::format("{}, each with a batch of its own", f.device.group->size()));
  row("batch", fmt::format("{} samples of {}, {}", f.options.batch_size,
                           to_string(model.input_shape()), f.precision));
  row("steps", fmt::format("{} measured after {} of warm-up", r.steps, f.options.warmup));
  row("step", fmt::format("{:.4f} s median, {:.4f} s mean +- {:.4f} (95 %)", r.step.median,
                          r.step.mean, r.step.ci95));
  row("throughput",
      fmt::format("{:.2f} samples/s, {:.3f} TFLOP/s", r.samples_per_second, r.tflops));
  row("waiting for", fmt::format("data {}, host {}, device {}", share(r.data_wait), share(r.host),
                                 share(r.device)));
  row("compile",
      fmt::format("{} ({} graph{}, {} found in the cache)", human_seconds(r.compile_seconds),
                  r.compiles, r.compiles == 1 ? "" : "s", r.cache_hits));
  row("memory", fmt::format("{:.0f} MiB peak, {:.0f} MiB planned for the step", r.peak_memory_mib,
                            r.planned_memory_mib));
  if (!r.losses.empty())
    row("loss", fmt::format("{:.4f} first, {:.4f} last", r.losses.front(), r.losses.back()));
}

// One line an op, the costliest first; what the table leaves out is summed in its last line.
void print_profile(const BenchResult& r) {
  struct Row {
    int64_t kernels = 0, calls = 0;
    double seconds = 0, flops = 0, bytes = 0;
  };
  std::map<std::string, Row> rows;
  int64_t runs = 1;
  double total = 0;
  for (const KernelProfile& k : r.profile) {
    Row& row = rows[k.op];
    ++row.kernels;
    runs = std::max(runs, k.calls);
    row.seconds += k.seconds;
    row.flops += k.flops * static_cast<double>(k.calls);
    row.bytes += k.bytes * static_cast<double>(k.calls);
    total += k.seconds;
  }
  std::vector<std::pair<std::string, Row>> sorted(rows.begin(), rows.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  Table table({{"op"},
               {"calls/step", Align::kRight},
               {"ms/step", Align::kRight},
               {"share", Align::kRight},
               {"GFLOP/s", Align::kRight},
               {"GB/s", Align::kRight}});
  for (const auto& [op, row] : sorted) {
    std::string name = op.size() > 60 ? op.substr(0, 57) + "..." : op;
    table.add({name, std::to_string(row.kernels),
               fmt::format("{:.3f}", 1e3 * row.seconds / static_cast<double>(runs)),
               fmt::format("{:.1f} %", 100 * row.seconds / total),
               fmt::format("{:.1f}", row.flops / row.seconds / 1e9),
               fmt::format("{:.1f}", row.bytes / row.seconds / 1e9)});
  }
  table.add({"total", std::to_string(r.profile.size()),
             fmt::format("{:.3f}", 1e3 * total / static_cast<double>(runs)), "100.0 %", "", ""});
  fmt::print("\n{}", table.to_string());
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

// The result as a row of measured throughput. Of a data-parallel run the first rank writes, for
// all; an instance is named only where EC2's metadata service names it.
void record_row(const BenchFlags& f, const Model& model, const Device& device,
                const BenchResult& r) {
  if (f.record.empty() || f.device.group->rank() != 0) return;
  fleet::TrainingRow row;
  row.model = model.name();
  row.size = static_cast<int>(model.input_shape()[-1]);
  row.chip = device->description();
  if (const auto own = fleet::own_instance()) row.instance = own->type;
  row.devices = f.device.group->size();
  row.batch = f.options.batch_size;
  row.precision = f.precision;
  row.optimizer = f.optimizer.name;
  row.samples_per_second = r.samples_per_second;
  row.input = f.data.spec.starts_with("fake") ? "synthetic" : "images";
  row.loader_workers = f.workers;
  row.software = "Centavo";
  row.date = today();
  fleet::append_jsonl_row(f.record, row);
}

int run_command(BenchFlags& f) {
  if (f.comm.wanted) {
    f.device.open();
    f.comm.options.dtype = parameter_dtype(precision_from_name(f.precision));  // a gradient's
    return run_comm_bench(f.comm, *f.device.group, f.format);
  }
  auto data = f.data.open(f.model.options, data::Split::kTrain);
  Device device = f.device.open();
  std::unique_ptr<Model> model = f.model.make(data.get());
  std::unique_ptr<Optimizer> optimizer = f.optimizer.make();
  TrainStep step(*model, *optimizer,
                 {precision_from_name(f.precision), 0, f.seed, device, f.device.group,
                  static_cast<int64_t>(f.device.bucket_mib * (1 << 20)), f.data.mix.enabled()});
  step.executable(f.options.batch_size);  // fails before anything is loaded
  data::Loader loader(data, {.batch_size = f.options.batch_size,
                             .workers = f.workers,
                             .seed = f.seed,
                             .rank = f.device.group->rank(),
                             .world = f.device.group->size(),
                             .mix = f.data.mix});
  BenchOptions options = f.options;
  options.lr = f.optimizer.resolved().lr;
  ProgressBar bar(f.format == Format::kTable && on_terminal());
  options.on_step = [&](int64_t done, int64_t total) { bar.update("Measuring", done, total); };
  BenchResult result = run_bench(step, loader, options);
  record_row(f, *model, device, result);
  if (f.format == Format::kJson) {
    fmt::print("{}\n", json_of(f, *model, device->threads(), result).dump());
    return 0;
  }
  bar.clear();
  print_result(f, *model, device, result);
  if (options.profile) print_profile(result);
  return 0;
}

}  // namespace

std::function<int()> set_up_bench(CLI::App& app) {
  auto flags = std::make_shared<BenchFlags>(app);
  app.footer(
      "Example: centavo bench --model vit_base_patch16_224 --batch-size 16 --precision bf16-mixed");
  return [flags] { return run_command(*flags); };
}

}  // namespace centavo::cli
