// centavo models: the zoo.
#include "centavo/base/text.h"
#include "centavo/cli/commands.h"
#include "centavo/cli/options.h"
#include "centavo/cli/table.h"
#include "centavo/io/json.h"
#include "centavo/models/model.h"

namespace centavo::cli {
namespace {

int list(const std::string& pattern, Format format) {
  Table table({{"MODEL"}, {"PARAMETERS", Align::kRight}, {"DESCRIPTION"}});
  io::Json json = io::Json::array();
  std::vector<std::string> names;
  for (const ModelEntry& entry : list_models()) {
    names.push_back(entry.name);
    if (!glob_match(pattern, entry.name)) continue;
    int64_t parameters = make_model(entry.name)->parameters().trainable_elements();
    table.add({entry.name, with_thousands(parameters), entry.description});
    json.push_back(
        {{"model", entry.name}, {"params", parameters}, {"description", entry.description}});
  }
  if (json.empty())
    throw Error("models", "no model matches '{}'{}", pattern, did_you_mean(pattern, names));
  fmt::print("{}", format == Format::kJson ? json.dump(2) + "\n" : table.to_string());
  return 0;
}

}  // namespace

std::function<int()> set_up_models(CLI::App& app) {
  struct Flags {
    std::string pattern = "*";
    Format format = Format::kTable;
  };
  auto flags = std::make_shared<Flags>();
  app.add_option("pattern", flags->pattern, "Names to list; * and ? are wildcards")
      ->type_name("PATTERN");
  add_format(app, flags->format);
  app.footer("Example: centavo models 'vit_*'");
  return [flags] { return list(flags->pattern, flags->format); };
}

}  // namespace centavo::cli
