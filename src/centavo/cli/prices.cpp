// centavo prices: list the price book, import prices and types that the user fetched.
#include "centavo/fleet/prices.h"

#include <ctime>

#include "centavo/base/error.h"
#include "centavo/cli/commands.h"
#include "centavo/cli/fleet_flags.h"
#include "centavo/fleet/data_dir.h"
#include "centavo/fleet/import.h"
#include "centavo/fleet/listing.h"

namespace centavo::cli {
namespace {

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

int import_file(const std::string& file, const std::string& date) {
  const fleet::Imported imported = fleet::read_import(file, date);
  const fleet::ImportSummary summary =
      fleet::keep_import(imported, fleet::Catalogue::load(fleet::data_dir()), fleet::user_dir());
  fmt::print(
      "{}: {} prices, {} instance types, {} rows left out (other systems, tenancies or units)\n",
      imported.format, summary.prices, summary.types, imported.left_out);
  fmt::print("kept in {}\n", fleet::user_dir().string());
  if (!summary.unknown.empty())
    fmt::print("types that the shipped catalogue does not have: {}\n",
               fmt::join(summary.unknown, " "));
  return 0;
}

}  // namespace

std::function<int()> set_up_prices(CLI::App& app) {
  struct Flags {
    explicit Flags(CLI::App& a) {
      a.add_option("pattern", pattern, "Types to list; default: all")->type_name("GLOBS");
      add_table_format(a, format);
      import = a.add_subcommand("import", "Keep prices and types of a file for later commands");
      import
          ->add_option("file", file,
                       "JSON of `aws ec2 describe-instance-types`, `describe-spot-price-history` "
                       "or `aws pricing "
                       "get-products`; an AWS price list offer file; SkyPilot's vms.csv")
          ->required()
          ->type_name("FILE");
      import
          ->add_option("--date", date,
                       "When the prices held, where the file does not say; default: today")
          ->type_name("YYYY-MM-DD");
    }
    CLI::App* import;
    std::string pattern, file, date = today();
    fleet::TableFormat format = fleet::TableFormat::kTable;
  };
  auto flags = std::make_shared<Flags>(app);
  return [flags] {
    if (flags->import->parsed()) return import_file(flags->file, flags->date);
    fmt::print("{}", fleet::prices_text(fleet::PriceBook::load(), flags->pattern, flags->format));
    return 0;
  };
}

}  // namespace centavo::cli
