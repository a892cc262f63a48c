#include "centavo/cli/bench_comm.h"

#include "centavo/io/json.h"

namespace centavo::cli {

CommBenchFlags::CommBenchFlags(CLI::App& app) {
  CLI::Option* model = app.get_option("--model");
  app.add_flag_callback(
         "--comm", [this, model] { wanted = true, model->required(false); },
         "Under mpirun: time the ranks' all_reduce by size instead of a training step")
      ->trigger_on_parse()
      ->group("Communication");
  add_value(app, "Communication", "--minbytes", options.min_bytes, "N", "Smallest size")
      ->check(CLI::Range(int64_t{8}, int64_t{1} << 40));
  add_value(app, "Communication", "--maxbytes", options.max_bytes, "N", "Largest size")
      ->check(CLI::Range(int64_t{8}, int64_t{1} << 40));
  add_value(app, "Communication", "--stepfactor", options.step_factor, "N",
            "Each size over the one before")
      ->check(CLI::Range(2, 1024));
}

int run_comm_bench(const CommBenchFlags& flags, dist::Group& group, Format format) {
  if (group.size() < 2)
    throw Error("bench", "--comm times what ranks do together; start it under mpirun -n 2 or more");
  if (flags.options.min_bytes > flags.options.max_bytes)
    throw Error("bench", "--minbytes {} is more than --maxbytes {}", flags.options.min_bytes,
                flags.options.max_bytes);
  const std::string type(name_of(flags.options.dtype));
  io::Json rows = io::Json::array();
  if (format == Format::kTable) {
    fmt::print("all_reduce of {} by {} ranks\n\n{:>12}{:>14}{:>8}{:>12}{:>14}{:>14}\n", type,
               group.size(), "size(B)", "count(elems)", "iters", "time(us)", "algbw(GB/s)",
               "busbw(GB/s)");
  }
  dist::bench_all_reduce(group, flags.options, [&](const dist::CommBenchRow& row) {
    const double microseconds = row.seconds * 1e6, algorithm = row.algorithm_bandwidth / 1e9,
                 bus = row.bus_bandwidth / 1e9;
    rows.push_back({{"size", row.bytes},
                    {"count", row.count},
                    {"iterations", row.iterations},
                    {"time_us", microseconds},
                    {"algbw_gbps", algorithm},
                    {"busbw_gbps", bus}});
    if (format != Format::kTable) return;
    fmt::print("{:>12}{:>14}{:>8}{:>12.2f}{:>14.3f}{:>14.3f}\n", row.bytes, row.count,
               row.iterations, microseconds, algorithm, bus);
    std::fflush(stdout);
  });
  if (format == Format::kJson) {
    fmt::print(
        "{}\n",
        io::Json{
            {"operation", "all_reduce"}, {"type", type}, {"ranks", group.size()}, {"results", rows}}
            .dump());
  }
  return 0;
}

}  // namespace centavo::cli
