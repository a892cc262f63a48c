// Layout of --help.
#include "centavo/cli/help.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace centavo::cli {
namespace {

// Groups in the order in which a reader needs them; a command's other groups follow, and what has
// no group ("Options") comes last.
constexpr std::array kGroups = {"Model",       "Data",      "Augmentation", "Training",
                                "Measurement", "Optimizer", "Device",       "Output",
                                "Checkpoints", "Ranks",     "Restarts", "Communication"};

struct Entry {
  std::string left, right;
};

// CLI11 appends the names of an option's checks to its type: "N:POSITIVE".
std::string type_of(const CLI::Option& option) {
  std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

// "-m, --model NAME"; long names stand under each other.
Entry entry_of(const CLI::Option& option) {
  Entry entry;
  if (option.nonpositional()) {
    for (const std::string& name : option.get_snames()) entry.left += "-" + name + ", ";
    if (entry.left.empty()) entry.left = "    ";
    for (const std::string& name : option.get_lnames()) entry.left += "--" + name;
    if (std::string type = type_of(option); !type.empty()) entry.left += " " + type;
  } else {
    entry.left = type_of(option);
  }
  entry.right = option.get_description();
  if (option.get_required()) entry.right += " (required)";
  if (std::string text = option.get_default_str(); !text.empty())
    entry.right += fmt::format(" (default {})", text);
  return entry;
}

std::vector<std::string> ordered_groups(const CLI::App& app) {
  std::vector<std::string> groups = app.get_groups();
  auto rank = [](const std::string& group) {
    auto at = std::find(kGroups.begin(), kGroups.end(), group);
    return at - kGroups.begin() + (group == "Options" ? 1 : 0);
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
  return groups;
}

std::string usage_of(const CLI::App& app, const std::string& name) {
  std::string usage = "Usage: " + name, rest;
  if (!app.get_subcommands({}).empty()) return usage + " COMMAND [OPTIONS]";
  for (const CLI::Option* option : app.get_options()) {
    std::string value = type_of(*option);
    if (option->nonpositional()) {
      if (option->get_required())
        usage += fmt::format(" --{} {}", option->get_lnames().front(), value);
    } else {
      const std::string argument = option->get_required() ? " " + value : " [" + value + "]";
      (value.starts_with("--") ? rest : usage) += argument;
    }
  }
  return usage + " [OPTIONS]" + rest;
}

}  // namespace

std::string help_text(const CLI::App* app, const std::string& name) {
  std::vector<std::pair<std::string, std::vector<Entry>>> sections;
  auto section = [&](const std::string& title) -> std::vector<Entry>& {
    return sections.emplace_back(title, std::vector<Entry>()).second;
  };
  auto& commands = section("Commands");
  for (const CLI::App* command : app->get_subcommands({}))
    commands.push_back({command->get_name(), command->get_description()});
  auto add_options = [&](const std::string& title, auto belongs) {
    auto& entries = section(title);
    for (const CLI::Option* option : app->get_options(belongs))
      entries.push_back(entry_of(*option));
  };
  add_options("Arguments", [](const CLI::Option* option) { return !option->nonpositional(); });
  for (const std::string& group : ordered_groups(*app)) {
    add_options(group, [&](const CLI::Option* option) {
      return option->nonpositional() && option->get_group() == group;
    });
  }
  size_t width = 0;
  for (const auto& [title, entries] : sections) {
    for (const Entry& entry : entries) width = std::max(width, entry.left.size());
  }
  std::string text = app->get_description() + "\n\n" + usage_of(*app, name) + "\n";
  for (const auto& [title, entries] : sections) {
    if (entries.empty()) continue;
    text += "\n" + title + ":\n";
    for (const Entry& entry : entries)
      text += fmt::format("  {:<{}}  {}\n", entry.left, width, entry.right);
  }
  if (!app->get_footer().empty()) text += "\n" + app->get_footer() + "\n";
  return text;
}

}  // namespace centavo::cli
