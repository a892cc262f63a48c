// bench --comm: the ranks' all-reduce by size, as a table like nccom-test's or as JSON.
#pragma once

#include "centavo/cli/options.h"
#include "centavo/dist/comm_bench.h"

namespace centavo::cli {

struct CommBenchFlags {
  explicit CommBenchFlags(CLI::App& app);
  bool wanted = false;
  dist::CommBenchOptions options;
};

// Returns the exit code. Throws Error when there is one rank only.
int run_comm_bench(const CommBenchFlags& flags, dist::Group& group, Format format);

}  // namespace centavo::cli
