// Takes a prediction apart, and repeats it with one thing changed at a time.
#include "centavo/fleet/explain.h"

#include <algorithm>

#include "centavo/base/error.h"
#include "centavo/base/text.h"
#include "centavo/io/json.h"

namespace centavo::fleet {
namespace {

void suggest(Explanation& result, std::string what, const Instance& instance,
             const Workload& workload, const RunSetup& setup, const Predictor& predictor) {
  try {
    const double rate = predictor.predict(instance, workload, setup).samples_per_second;
    if (rate > 1.01 * result.prediction.samples_per_second)
      result.suggestions.push_back({std::move(what), rate});
  } catch (const Error&) {  // does not fit
  }
}

void add_suggestions(Explanation& result, const Instance& instance, const Workload& workload,
                     const RunSetup& setup, const Workload* larger, const Predictor& predictor) {
  RunSetup changed = setup;
  const int loaders = setup.loader_workers > 0 ? setup.loader_workers
                                               : std::max(1, instance.vcpus / instance.workers());
  changed.loader_workers = 2 * loaders;
  suggest(result, fmt::format("{} loader workers a worker instead of {}", 2 * loaders, loaders),
          instance, workload, changed, predictor);
  if (loaders > 1) {
    changed.loader_workers = 1;
    suggest(result, "one loader worker a worker: they compete with the launch", instance, workload,
            changed, predictor);
  }
  changed = setup;
  changed.steps_per_launch = 10 * setup.steps_per_launch;
  suggest(result, fmt::format("{} steps per launch", changed.steps_per_launch), instance, workload,
          changed, predictor);
  if (larger != nullptr)
    suggest(result, fmt::format("twice the batch ({} a worker)", larger->batch), instance, *larger,
            setup, predictor);
  if (setup.layout == Layout::kNchw) {
    changed = setup;
    changed.layout = Layout::kNhwc;
    suggest(result, "channels-last images", instance, workload, changed, predictor);
  }
  Instance bigger = instance;
  bigger.cores *= 2, bigger.vcpus *= 2;
  suggest(result, "a host with twice the cores", bigger, workload, setup, predictor);
  std::stable_sort(result.suggestions.begin(), result.suggestions.end(),
                   [](const Suggestion& a, const Suggestion& b) {
                     return a.samples_per_second > b.samples_per_second;
                   });
}

}  // namespace

Explanation explain(const Instance& instance, const Workload& workload, const RunSetup& setup,
                    const Workload* larger, const Predictor& predictor) {
  Explanation result;
  result.prediction = predictor.predict(instance, workload, setup);
  result.band = predictor.band(instance.chip);
  result.batch = workload.batch;
  result.spill = spill_factor(workload, instance.chip, predictor.parameters());
  if (result.prediction.workers > 1)
    result.all_reduce = all_reduce_seconds(
        topology_of(predictor.catalogue(), instance, result.prediction.workers / setup.instances,
                    setup.instances),
        workload.gradient_bytes);
  result.title = fmt::format("{}{}: {}, batch {} a worker, {}, {}, {} workers",
                             setup.instances > 1 ? fmt::format("{} x ", setup.instances) : "",
                             instance.name, workload.model, workload.batch, workload.precision,
                             workload.optimizer, result.prediction.workers);
  add_suggestions(result, instance, workload, setup, larger, predictor);
  return result;
}

ResultTable explain_table(const Explanation& e) {
  ResultTable table({{"PART", "part"}, {"MS", "ms"}, {"SHARE", "share"}});
  const SimulatedStep& parts = e.prediction.parts;
  const auto add = [&](std::string name, double seconds) {
    if (seconds <= 0) return;
    table.add({std::move(name), Cell(1e3 * seconds, fmt::format("{:.2f}", 1e3 * seconds)),
               Cell(seconds / e.prediction.seconds,
                    fmt::format("{:.1f} %", 100 * seconds / e.prediction.seconds))});
  };
  add("waiting for input", parts.input);
  add("tracing and launching", parts.launch);
  add("host to device copy", parts.copy);
  // Accumulated batches share one batch's split.
  const double scale = parts.compute / e.prediction.device.total();
  for (int c = 0; c < kOpClasses; ++c)
    add(std::string(name_of(static_cast<OpClass>(c))),
        scale * e.prediction.device.by_class[static_cast<size_t>(c)]);
  add("all-reduce not hidden", parts.network);
  add("step", e.prediction.seconds);
  return table;
}

std::string explain_text(const Explanation& e, TableFormat format) {
  const ResultTable table = explain_table(e);
  const Prediction& p = e.prediction;
  if (format == TableFormat::kCsv) return table.to_string(format);
  if (format == TableFormat::kJson) {
    io::Json json = {{"prediction", e.title},
                     {"step_seconds", p.seconds},
                     {"samples_per_second", p.samples_per_second},
                     {"band", e.band},
                     {"bound_by", name_of(p.bound)},
                     {"parts", io::Json::parse(table.to_string(format))},
                     {"memory_bytes", p.memory_bytes},
                     {"memory_available", p.memory_available},
                     {"all_reduce_seconds", e.all_reduce},
                     {"suggestions", io::Json::array()}};
    for (const Suggestion& s : e.suggestions)
      json["suggestions"].push_back(
          {{"what", s.what}, {"samples_per_second", s.samples_per_second}});
    return json.dump(2) + "\n";
  }
  std::string text = e.title + "\n\n" + table.to_string(format) + "\n";
  text += fmt::format("predicted {:.1f} samples/s +-{:.0f} %, bound by {}\n", p.samples_per_second,
                      100 * e.band, name_of(p.bound));
  text += fmt::format("memory: {} of {} a worker\n", human_bytes(p.memory_bytes),
                      human_bytes(p.memory_available));
  if (e.all_reduce > 0)
    text += fmt::format(
        "all-reduce: links busy for {} in one piece, {:.2f} ms of the step not hidden by "
        "backward\n",
        human_seconds(e.all_reduce), 1e3 * p.parts.network);
  if (e.spill != 1)
    text += fmt::format("on-chip memory: element-wise traffic is {:.2f} of an eager framework's\n",
                        e.spill);
  if (!p.warning.empty()) text += "warning: " + p.warning + "\n";
  for (const Suggestion& s : e.suggestions)
    text +=
        fmt::format("would help: {}: {:.1f} samples/s ({:+.0f} %)\n", s.what, s.samples_per_second,
                    100 * (s.samples_per_second / p.samples_per_second - 1));
  return text;
}

}  // namespace centavo::fleet
