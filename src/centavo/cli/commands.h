// The program's commands: one file each, one line in commands.def.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace centavo::cli {

// Adds a command's options to its (sub)app and returns what runs it; the result is the exit code.
using SetUp = std::function<int()> (*)(CLI::App& app);

#define CENTAVO_COMMAND(name, description) std::function<int()> set_up_##name(CLI::App& app);
#include "centavo/cli/commands.def"
#undef CENTAVO_COMMAND

}  // namespace centavo::cli
