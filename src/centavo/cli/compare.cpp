// centavo compare: what a training step takes and costs on every instance type.
#include "centavo/fleet/compare.h"

#include "centavo/base/error.h"
#include "centavo/cli/commands.h"
#include "centavo/cli/fleet_flags.h"
#include "centavo/fleet/report.h"
#include "centavo/io/file.h"

namespace centavo::cli {
namespace {

struct CompareFlags {
  explicit CompareFlags(CLI::App& app) : training(app, true), run(app), prices(app) {
    app.add_option("-i,--instances", instances, "Types to compare: 'trn1.*,inf2.*'; default: all")
        ->type_name("GLOBS");
    app.add_option("--measured", measured,
                   "Rows that `centavo bench --record` wrote, shown in place of predictions")
        ->type_name("FILE");
    app.add_option("--sort", sort, "cost or speed")
        ->transform(CLI::CheckedTransformer(std::map<std::string, fleet::SortBy>{
            {"cost", fleet::SortBy::kCost}, {"speed", fleet::SortBy::kSpeed}}))
        ->type_name("BY")
        ->default_str("cost");
    app.add_option("--report", report, "Also write one self-contained page")
        ->type_name("FILE.html");
    add_table_format(app, format);
  }
  TrainingFlags training;
  RunFlags run;
  PriceFlags prices;
  std::string instances, measured, report;
  fleet::SortBy sort = fleet::SortBy::kCost;
  fleet::TableFormat format = fleet::TableFormat::kTable;
};

int run_command(const CompareFlags& f) {
  std::optional<io::AtomicFile> page;  // a path that cannot be written fails before the work
  if (!f.report.empty()) page.emplace(f.report);
  fleet::CompareRequest request;
  request.workload = f.training.workload();
  request.setup = f.run.setup();
  request.instances = f.instances;
  request.prices = f.prices.choice();
  request.sort = f.sort;
  if (!f.measured.empty()) request.measured = fleet::read_training_rows(f.measured);
  const fleet::Comparison comparison =
      fleet::compare(request, fleet::Predictor::load(), fleet::PriceBook::load());
  fmt::print("{}", fleet::compare_text(comparison, f.format));
  if (page) {
    page->write(fleet::report_html(comparison));
    page->commit();
    fmt::print(stderr, "report: {}\n", f.report);
  }
  return 0;
}

}  // namespace

std::function<int()> set_up_compare(CLI::App& app) {
  auto flags = std::make_shared<CompareFlags>(app);
  app.footer(
      "Example: centavo compare --model vit_base_patch16_224 --batch-size 16 --instances "
      "'trn1.*,inf2.*'");
  return [flags] { return run_command(*flags); };
}

}  // namespace centavo::cli
