// Reading rows, and working out how a row was run from what it says.
#include "centavo/fleet/rows.h"

#include <algorithm>
#include <cctype>

#include "centavo/base/error.h"
#include "centavo/base/text.h"
#include "centavo/fleet/architectures.h"
#include "centavo/fleet/data_dir.h"
#include "centavo/io/toml_reader.h"

namespace centavo::fleet {
namespace {

TrainingRow read_row(io::TomlTable& table) {
  TrainingRow row;
  row.id = table.text("id");
  row.model = table.text("model");
  row.size = table.integer_or("size", 0);
  row.chip = table.text_or("chip", "");
  row.instance = table.text_or("instance", "");
  row.devices = table.integer("devices", 1);
  row.batch = table.integer_or("batch", 0);
  row.precision = table.text("precision");
  row.optimizer = table.text("optimizer");
  row.samples_per_second = table.number("samples_per_second", 1e-9);
  row.input = table.text_or("input", "");
  row.loader_workers = table.integer_or("loader_workers", 0);
  row.accumulate = table.integer_or("accumulate", 1, 1);
  row.steps_per_launch = table.integer_or("steps_per_launch", 1, 1);
  row.software = table.text("software");
  row.date = table.text("date");
  row.source = table.text("source");
  return row;
}

RatioRow read_ratio(io::TomlTable& table) {
  RatioRow ratio;
  TrainingRow& row = ratio.better;
  row.id = table.text("id");
  row.model = table.text("model");
  row.instance = table.text("better");
  row.devices = table.integer("devices", 1);
  row.batch = table.integer("batch", 1);
  row.precision = table.text("precision");
  row.optimizer = table.text("optimizer");
  row.software = table.text("software");
  row.date = table.text("date");
  row.source = table.text("source");
  ratio.than = row;
  ratio.than.instance = table.text("than");
  ratio.price_performance = table.number("price_performance", 1e-9);
  return ratio;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

// "10 batches per execution" in the words of a published row.
int launches_in(const std::string& software) {
  const size_t at = software.find(" batches per execution");
  if (at == std::string::npos) return 1;
  const size_t begin = software.find_last_not_of("0123456789", at - 1) + 1;
  return std::max(1, std::atoi(software.substr(begin, at - begin).c_str()));
}

Layout layout_of(const TrainingRow& row, const Chip& chip) {
  const std::string software = lower(row.software);
  if (software.find("nhwc") != std::string::npos ||
      software.find("channels-last") != std::string::npos)
    return Layout::kNhwc;
  if (software.find("nchw") != std::string::npos) return Layout::kNchw;
  // PyTorch keeps channels first unless told otherwise; published half-precision GPU recipes tell
  // it.
  const bool half = precision_from_name(row.precision).activation == 2;
  return chip.kind == ChipKind::kGpu && half ? Layout::kNhwc : Layout::kNchw;
}

InputKind input_of(const TrainingRow& row, const Workload& workload) {
  if (!row.input.empty()) return input_kind_from_name(row.input);
  // NVIDIA's examples train on the stored photographs.
  const bool photographs = row.software.starts_with("NGC") && workload.input != InputKind::kTokens;
  return photographs ? InputKind::kImages : workload.input;
}

// The smallest machine with that many of the chip, fixed systems before rentable ones.
const Instance& system_with(const Catalogue& catalogue, const Chip& chip, int devices) {
  const Instance* best = nullptr;
  for (const Instance& instance : catalogue.instances()) {
    if (instance.chip.name != chip.name || instance.workers() < devices) continue;
    if (best == nullptr || std::pair(instance.rentable, instance.workers()) <
                               std::pair(best->rentable, best->workers()))
      best = &instance;
  }
  if (best == nullptr)
    throw Error("fleet", "no machine of the catalogue holds {} of {}", devices, chip.name);
  return *best;
}

// Fills a training setup's batch with the largest power of two whose memory fits.
Workload largest_that_fits(TrainingSetup setup, const Chip& chip) {
  Workload best;
  for (setup.batch = 1; setup.batch <= 256; setup.batch *= 2) {
    Workload next = describe_architecture(setup);
    if (setup.batch > 1 &&
        next.state_bytes + next.activation_bytes > 0.9 * chip.memory_bytes / chip.workers)
      break;
    best = std::move(next);
  }
  return best;
}

}  // namespace

// rows_csv.cpp, rows_jsonl.cpp
std::vector<TrainingRow> read_csv_rows(const std::filesystem::path& path);
std::vector<TrainingRow> read_jsonl_rows(const std::filesystem::path& path);

std::vector<TrainingRow> read_training_rows(const std::filesystem::path& path) {
  if (path.extension() == ".csv") return read_csv_rows(path);
  if (path.extension() == ".jsonl") return read_jsonl_rows(path);
  throw Error(path.string(), "training rows come from .csv or .jsonl files");
}

TrainingRows published_rows() {
  return published_rows(data_dir());
}

TrainingRows published_rows(const std::filesystem::path& dir) {
  TrainingRows all;
  io::TomlFile file(dir / "published.toml");
  io::TomlTable root = file.root();
  for (io::TomlTable& table : root.tables("row")) {
    all.rows.push_back(read_row(table));
    table.finish();
  }
  for (io::TomlTable& table : root.tables("ratio")) {
    all.ratios.push_back(read_ratio(table));
    table.finish();
  }
  root.finish();
  return all;
}

ResolvedRow resolve(const TrainingRow& row, const Predictor& predictor) {
  const Catalogue& catalogue = predictor.catalogue();
  const Instance& instance = row.instance.empty()
                                 ? system_with(catalogue, catalogue.chip(row.chip), row.devices)
                                 : catalogue.instance(row.instance);
  RunSetup setup;
  setup.workers = std::min(row.devices, instance.workers());
  setup.instances = (row.devices + setup.workers - 1) / setup.workers;
  setup.loader_workers = row.loader_workers > 0 ? row.loader_workers : instance.loader_workers;
  setup.accumulate = row.accumulate;
  setup.steps_per_launch = std::max(row.steps_per_launch, launches_in(row.software));
  setup.layout = layout_of(row, instance.chip);
  setup.has_run = true;
  setup.date = row.date;
  const TrainingSetup training{row.model, row.batch, row.precision, row.optimizer, row.size};
  Workload workload =
      row.batch > 0 ? describe_architecture(training) : largest_that_fits(training, instance.chip);
  workload.input = input_of(row, workload);
  return {&instance, std::move(workload), setup};
}

}  // namespace centavo::fleet
