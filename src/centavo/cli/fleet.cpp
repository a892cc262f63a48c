// centavo fleet: fit the cost model, and check it against rows.
#include "centavo/base/error.h"
#include "centavo/cli/commands.h"
#include "centavo/cli/fleet_flags.h"
#include "centavo/fleet/calibration.h"
#include "centavo/fleet/data_dir.h"
#include "centavo/fleet/listing.h"
#include "centavo/io/file.h"

namespace centavo::cli {
namespace {

struct FleetFlags {
  explicit FleetFlags(CLI::App& app) {
    app.require_subcommand(1);
    calibrate = app.add_subcommand(
        "calibrate", "Fit the parameters to published and measured rows; leave-one-out errors");
    calibrate->add_option("--rows", rows, "More rows: .csv, or .jsonl of `centavo bench --record`")
        ->type_name("FILE");
    calibrate->add_flag(
        "--write", write,
        "Keep the fit for later commands (in the directory that CENTAVO_FLEET_DIR names)");
    check =
        app.add_subcommand("check", "Predict rows and show the errors, without fitting to them");
    check->add_option("file", file, "Rows: .csv or .jsonl")->required()->type_name("FILE");
    for (CLI::App* command : {calibrate, check}) add_table_format(*command, format);
  }
  CLI::App *calibrate, *check;
  std::string rows, file;
  bool write = false;
  fleet::TableFormat format = fleet::TableFormat::kTable;
};

int run_calibrate(const FleetFlags& f) {
  const fleet::TrainingRows published = fleet::published_rows();
  std::vector<fleet::TrainingRow> rows = published.rows;
  if (!f.rows.empty())
    for (fleet::TrainingRow& row : fleet::read_training_rows(f.rows))
      rows.push_back(std::move(row));
  fleet::Predictor predictor = fleet::Predictor::load();
  const fleet::Calibration calibration = fleet::calibrate(rows, predictor);
  predictor.set_parameters(calibration.parameters);
  fmt::print("{}", fleet::calibration_text(calibration, published.ratios, predictor, f.format));
  if (f.write) {
    io::atomic_write_file(fleet::data_dir() / "parameters.toml", to_toml(calibration.parameters));
    io::atomic_write_file(fleet::data_dir() / "bands.toml", to_toml(error_bands(calibration)));
    fmt::print(stderr, "written to {}\n", fleet::data_dir().string());
  }
  return 0;
}

}  // namespace

std::function<int()> set_up_fleet(CLI::App& app) {
  auto flags = std::make_shared<FleetFlags>(app);
  return [flags] {
    if (flags->calibrate->parsed()) return run_calibrate(*flags);
    fmt::print("{}", fleet::check_text(fleet::read_training_rows(flags->file),
                                       fleet::Predictor::load(), flags->format));
    return 0;
  };
}

}  // namespace centavo::cli
