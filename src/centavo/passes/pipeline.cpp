// The passes in order.
#include <cstdlib>
#include <string_view>

#include "centavo/base/log.h"
#include "centavo/passes/passes.h"

namespace centavo {
namespace {

// Smaller values cost a launch and save next to nothing.
constexpr int64_t kWorthRemaking = int64_t{1} << 18;

bool dump_wanted() {
  const char* text = std::getenv("CENTAVO_DUMP");
  return text && std::string_view(text) == "passes";
}

}  // namespace

Graph run_pipeline(const Graph& graph, const PipelineOptions& options) {
  const bool dump = dump_wanted();
  Graph current = graph;
  auto run = [&](const std::string& name, const std::function<Graph(const Graph&)>& pass) {
    current = pass(current);
    verify(current, name);
    if (dump) log_line(LogLevel::kInfo, "after " + name + ":\n" + to_string(current));
  };
  run("decompose", [&](const Graph& g) { return decompose(g, options.has_kernel); });
  run("simplify", simplify);
  run("cse", eliminate_common_subexpressions);
  run("schedule", schedule);  // so that the peak is seen where it will be
  run("rematerialize", [](const Graph& g) { return rematerialize(g, kWorthRemaking); });
  for (const auto& [name, pass] : options.backend_passes) run(name, pass);
  run("dce", eliminate_dead_code);
  run("schedule", schedule);
  return current;
}

}  // namespace centavo
