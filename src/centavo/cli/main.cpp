// The program `centavo`: finds the command, runs it, and turns errors into exit codes: 0 ok, 1
// failed, 2 usage.
#include <array>
#include <cstdio>
#include <exception>
#include <unistd.h>

#include "centavo/base/error.h"
#include "centavo/base/text.h"
#include "centavo/cli/commands.h"
#include "centavo/cli/help.h"
#include "centavo/dist/launcher.h"

namespace centavo::cli {
namespace {

struct Entry {
  const char* name;
  const char* description;
  SetUp set_up;
};
constexpr std::array kCommands = {
#define CENTAVO_COMMAND(name, description) Entry{#name, description, set_up_##name},
#include "centavo/cli/commands.def"
#undef CENTAVO_COMMAND
};

// Names that a misspelt word may have meant: the flags of the chosen command, or the commands.
std::vector<std::string> candidates(const CLI::App& app) {
  std::vector<std::string> names;
  const CLI::App* chosen = &app;
  if (!app.get_subcommands().empty()) chosen = app.get_subcommands().front();
  for (const CLI::Option* option : chosen->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* command : chosen->get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

int usage_error(const CLI::App& app, const CLI::ParseError& error) {
  if (dist::launcher_rank() > 0) return 2;  // rank 0 says it
  std::string message = error.what();
  // A misspelt word is the likelier mistake when something required is missing too.
  const std::vector<std::string> extras = app.remaining(true);
  if (!extras.empty()) {
    std::string word = extras.front();
    if (auto equals = word.find('='); equals != word.npos) word.resize(equals);
    const char* what = word.starts_with("-")           ? "unknown option"
                       : app.get_subcommands().empty() ? "unknown command"
                                                       : "unexpected argument";
    message = fmt::format("{} '{}'{}", what, word, did_you_mean(word, candidates(app)));
  } else if (app.get_subcommands().empty()) {
    message = "no command given";
  }
  const std::string command =
      app.get_subcommands().empty() ? "" : " " + app.get_subcommands().front()->get_name();
  fmt::print(stderr, "centavo{}: {}\nTry `centavo{} --help`.\n", command, message, command);
  return 2;
}

// "centavo", and in a job of several ranks which of them speaks.
std::string program_name() {
  if (dist::launcher_size() < 2) return "centavo";
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return fmt::format("centavo: rank {} on host {}", dist::launcher_rank(), host.data());
}

int run(int argc, char** argv) {
  CLI::App app("Trains deep-learning models in C++ and tells where training them costs least.",
               "centavo");
  app.set_version_flag("--version", "centavo 0.1.0");
  app.require_subcommand(1);
  app.formatter_fn([](const CLI::App* shown, const std::string& name, CLI::AppFormatMode) {
    return help_text(shown, name);
  });
  std::function<int()> chosen;
  for (const Entry& entry : kCommands) {
    CLI::App* command = app.add_subcommand(entry.name, entry.description);
    std::function<int()> action = entry.set_up(*command);
    command->final_callback([&chosen, action] { chosen = action; });
  }
  app.footer("Each command explains itself: centavo train --help");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return usage_error(app, error);
  }
  return chosen();
}

}  // namespace
}  // namespace centavo::cli

int main(int argc, char** argv) {
  using centavo::cli::program_name;
  try {
    return centavo::cli::run(argc, argv);
  } catch (const centavo::Error& error) {
    fmt::print(stderr, "{}: {}\n", program_name(), error.what());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "{}: out of memory; use a smaller batch or model\n", program_name());
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", program_name(), error.what());
  }
  return 1;
}
