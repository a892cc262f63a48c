#include "centavo/cli/config_file.h"

#include <algorithm>

#include "centavo/base/text.h"
#include "centavo/cli/options.h"
#include "centavo/io/toml_reader.h"
#include "centavo/io/toml_writer.h"

namespace centavo::cli {
namespace {

// Options that are about one run rather than about what it trains.
constexpr std::array kOfOneRun = {"config", "help", "output", "resume"};

bool is_flag(const CLI::Option& option) {
  return option.get_expected_min() == 0;
}

std::string key_of(const CLI::Option& option) {
  return option.get_lnames().empty() ? "" : option.get_lnames().front();
}

std::vector<std::string> keys_of(const CLI::App& app) {
  std::vector<std::string> keys;
  for (const CLI::Option* option : app.get_options()) {
    if (std::string key = key_of(*option); !key.empty() && key != "config" && key != "help")
      keys.push_back(key);
  }
  return keys;
}

// CLI11 keeps the default of an option of several values as "[a,b]".
bool is_bracketed(const std::string& text) {
  return text.size() >= 2 && text.front() == '[' && text.back() == ']';
}

void set_default(CLI::Option& option, const std::vector<std::string>& words) {
  const std::string value =
      words.size() == 1 ? words[0] : fmt::format("[{}]", fmt::join(words, ","));
  option.run_callback_for_default()->required(false)->default_val(value);
}

void apply_config(CLI::App& app, const std::string& path) {
  const io::TomlFile file(path);
  io::TomlTable table = file.root();
  const std::vector<std::string> known = keys_of(app);
  for (const std::string& key : table.keys()) {
    std::string name = key;
    std::ranges::replace(name, '_', '-');  // timm's args.yaml has underscores
    if (std::ranges::find(known, name) == known.end())
      throw Error(table.where(key), "unknown key '{}'{}", key, did_you_mean(name, known));
    CLI::Option& option = *app.get_option("--" + name);
    const std::vector<std::string> words = table.words(key);
    if (is_flag(option) && words != std::vector<std::string>{"true"} &&
        words != std::vector<std::string>{"false"})
      throw Error(table.where(key), "'{}' must be true or false", key);
    try {
      set_default(option, words);
    } catch (const CLI::Error& e) {
      throw Error(table.where(key), "{}", e.what());
    }
  }
}

io::TomlSetting setting_of(const CLI::Option& option) {
  io::TomlSetting setting{key_of(option), option.results()};
  const std::string text = option.get_default_str();
  if (setting.words.empty() && is_bracketed(text)) {
    setting.words = split(std::string_view(text).substr(1, text.size() - 2), ',');
  } else if (setting.words.empty() && !text.empty()) {
    setting.words = {text};
  }
  setting.list = setting.words.size() > 1;
  if (setting.words.empty() && is_flag(option)) setting.words = {"false"};
  return setting;
}

}  // namespace

void add_config_file(CLI::App& app) {
  app.add_option_function<std::string>(
         "-c,--config",
         [&app](const std::string& path) {
           try {
             apply_config(app, path);
           } catch (const Error& e) {
             throw CLI::ValidationError(e.what());
           }
         },
         "Options from a TOML file, e.g. a run's args.toml; the command line overrides them")
      ->trigger_on_parse()
      ->type_name("FILE")
      ->group("Output");
}

std::string args_toml(const CLI::App& app) {
  std::vector<io::TomlSetting> settings;
  for (const CLI::Option* option : app.get_options()) {
    io::TomlSetting setting = setting_of(*option);
    const bool kept = !setting.key.empty() && !setting.words.empty() &&
                      std::ranges::find(kOfOneRun, setting.key) == kOfOneRun.end();
    if (kept) settings.push_back(std::move(setting));
  }
  return "# The options of a run; `centavo " + app.get_name() + " -c` takes it.\n" +
         io::toml_text(settings);
}

}  // namespace centavo::cli
