// A program run as a child, with its standard error read line by line and stop signals passed on.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace centavo::cli {

// Runs `command` (found in PATH) until it ends; its standard output is this process's. Each line of
// its standard error goes to `on_line`, without its end. SIGTERM and SIGUSR1 to this process reach
// it as SIGUSR1, SIGINT as SIGTERM; it dies if this process does. Returns its exit code, or 128 +
// the signal that ended it. Throws Error when it cannot be started.
int run_child(const std::vector<std::string>& command,
              const std::function<void(std::string_view)>& on_line);
// A stop signal has come since the program began.
bool child_stop_requested();
// Passes signals on from now on; run_child does it too.
void catch_stop_signals();

}  // namespace centavo::cli
