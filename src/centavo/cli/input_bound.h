// Says when training waits for its data, and what would help.
#pragma once

#include <string>

namespace centavo::cli {

// A line for the log where loading takes more than a tenth of a step's time; else empty. Seconds
// are means over at least a few steps; `workers` are the loader's threads.
std::string input_bound_message(double wait_seconds, double step_seconds, int workers);

}  // namespace centavo::cli
