// The benchmark's loop.
#include "centavo/train/bench.h"

#include <algorithm>
#include <cmath>

#include "centavo/base/timer.h"
#include "centavo/runtime/metrics.h"
#include "centavo/train/batch.h"

namespace centavo {
namespace {

struct StepTimes {
  double total = 0, data_wait = 0, host = 0, device = 0;
};

void fill_summaries(BenchResult& result, const std::vector<StepTimes>& times) {
  auto summary_of = [&](double StepTimes::*part) {
    std::vector<double> values;
    for (const StepTimes& t : times) values.push_back(t.*part);
    return summarize(std::move(values));
  };
  result.step = summary_of(&StepTimes::total);
  result.data_wait = summary_of(&StepTimes::data_wait);
  result.host = summary_of(&StepTimes::host);
  result.device = summary_of(&StepTimes::device);
}

}  // namespace

BenchResult run_bench(TrainStep& step, data::Loader& loader, const BenchOptions& options) {
  BenchResult result;
  Executable& executable = step.executable(options.batch_size);
  result.compile_seconds = executable.info().compile_seconds;

  std::vector<StepTimes> times;
  Tensor pending;
  Timer run, since_completion;
  // The first measured iteration only fills the pipeline: no step completes in it.
  for (int64_t i = 0; i <= options.warmup + options.steps; ++i) {
    if (i == options.warmup) {
      // Measuring starts from an idle device.
      if (pending.defined()) item(pending);
      pending = {};
      executable.set_profiling(options.profile);
      run.restart();
      since_completion.restart();
    }
    if (!times.empty() && run.seconds() >= options.max_seconds) break;
    StepTimes t;
    Timer part;
    std::shared_ptr<const data::Batch> batch = loader.next();
    if (!batch) throw Error("bench", "the data ended after {} steps", i);
    t.data_wait = part.restart();
    Tensor loss = step.run(upload_images(*batch, step.device()),
                           upload_labels(*batch, step.device()), options.lr);
    t.host = part.restart();
    if (pending.defined()) {
      double value = item(pending);
      if (i > options.warmup) result.losses.push_back(value);
    }
    t.device = part.restart();
    pending = loss;
    t.total = since_completion.restart();
    if (i > options.warmup) times.push_back(t);
    if (options.on_step && !times.empty()) {
      const auto done = static_cast<double>(times.size());
      const double fit = std::ceil(done * std::max(1.0, options.max_seconds / run.seconds()));
      options.on_step(static_cast<int64_t>(done),
                      std::min(options.steps, static_cast<int64_t>(fit)));
    }
  }
  if (pending.defined()) item(pending);  // launched beyond the last measured step
  executable.set_profiling(false);

  fill_summaries(result, times);
  result.steps = static_cast<int64_t>(times.size());
  if (result.step.median > 0) {
    const int ranks = step.options().ranks();
    result.samples_per_second =
        static_cast<double>(options.batch_size * ranks) / result.step.median;
    result.tflops = ranks * step.matrix_flops(options.batch_size) / result.step.median / 1e12;
  }
  if (options.profile) result.profile = executable.profile();
  result.compiles = counter("Compile");
  result.cache_hits = counter("CachedCompile");
  result.peak_memory_mib = peak_memory_mib();
  result.planned_memory_mib = static_cast<double>(executable.info().planned_bytes()) / (1 << 20);
  return result;
}

}  // namespace centavo
