// centavo explain: one prediction taken apart.
#include "centavo/fleet/explain.h"

#include "centavo/base/error.h"
#include "centavo/cli/commands.h"
#include "centavo/cli/fleet_flags.h"

namespace centavo::cli {

std::function<int()> set_up_explain(CLI::App& app) {
  struct Flags {
    explicit Flags(CLI::App& a) : training(a, true), run(a) {
      a.add_option("--instance", instance, "Instance type")->required()->type_name("NAME");
      add_table_format(a, format);
    }
    TrainingFlags training;
    RunFlags run;
    std::string instance;
    fleet::TableFormat format = fleet::TableFormat::kTable;
  };
  auto flags = std::make_shared<Flags>(app);
  app.footer(
      "Example: centavo explain --instance inf2.xlarge --model vit_base_patch16_224 --batch-size "
      "16");
  return [flags] {
    const fleet::Predictor predictor = fleet::Predictor::load();
    const fleet::Workload workload = flags->training.workload();
    const fleet::Workload larger =
        flags->training.workload(2 * flags->training.batch, flags->training.precision);
    const fleet::Explanation explanation =
        fleet::explain(predictor.catalogue().instance(flags->instance), workload,
                       flags->run.setup(), &larger, predictor);
    fmt::print("{}", fleet::explain_text(explanation, flags->format));
    return 0;
  };
}

}  // namespace centavo::cli
