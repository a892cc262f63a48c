// A command's options in a TOML file: read with -c, and written as the args.toml of a run.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace centavo::cli {

// Adds -c FILE, whose keys are the long names of the command's options. What the file says takes
// the place of the options' defaults: the command line overrides it, wherever -c stands. Call it
// when all other options are there. An unknown key is a usage error that offers the nearest name.
void add_config_file(CLI::App& app);

// What the command was told, and its defaults, as such a file. Where the run goes and from where it
// goes on is left out.
std::string args_toml(const CLI::App& app);

}  // namespace centavo::cli
