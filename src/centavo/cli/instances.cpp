// centavo instances: the catalogue.
#include "centavo/base/error.h"
#include "centavo/cli/commands.h"
#include "centavo/cli/fleet_flags.h"
#include "centavo/fleet/imds.h"
#include "centavo/fleet/listing.h"

namespace centavo::cli {

std::function<int()> set_up_instances(CLI::App& app) {
  struct Flags {
    explicit Flags(CLI::App& a) : prices(a) {
      a.add_option("pattern", pattern, "Types to list: 'trn1.*,inf2.*'; default: all")
          ->type_name("GLOBS");
      a.add_flag("--own", own, "The type of the machine this runs on, from EC2's metadata service");
      a.add_flag("--sources", sources, "Also where each figure comes from");
      add_table_format(a, format);
    }
    PriceFlags prices;
    std::string pattern;
    bool own = false, sources = false;
    fleet::TableFormat format = fleet::TableFormat::kTable;
  };
  auto flags = std::make_shared<Flags>(app);
  return [flags] {
    const fleet::Catalogue catalogue = fleet::Catalogue::load();
    std::string pattern = flags->pattern;
    if (flags->own) {
      const auto found = fleet::own_instance();
      if (!found)
        throw Error("instances",
                    "this machine has no EC2 instance metadata service: it is not an EC2 instance");
      pattern = found->type;
    }
    fmt::print("{}", fleet::instances_text(catalogue, pattern, fleet::PriceBook::load(),
                                           flags->prices.choice(), flags->sources, flags->format));
    return 0;
  };
}

}  // namespace centavo::cli
