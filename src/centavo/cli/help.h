// The text of --help: usage, then the options by group, each with its default.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace centavo::cli {

// For CLI::App::formatter_fn, which subcommands inherit. `name` is the command as typed, e.g.
// "centavo train".
std::string help_text(const CLI::App* app, const std::string& name);

}  // namespace centavo::cli
