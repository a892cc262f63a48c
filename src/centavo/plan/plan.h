// The memory plan: where each value of a scheduled graph lives while it runs.
#pragma once

#include <functional>
#include <vector>

#include "centavo/ir/graph.h"

namespace centavo {

struct Place {
  enum Kind { kNone, kInput, kOutput, kArena };
  Kind kind = kNone;
  int index = -1;      // of the input or output whose buffer it is
  int64_t offset = 0;  // bytes, in the arena
};

struct MemoryPlan {
  std::vector<std::vector<Place>> places;  // [node id][output]
  int64_t arena_bytes = 0;
  // Outputs that must be copied after the run: (output, the value's place). The value of a graph
  // input that is returned as it is, or one value returned twice.
  std::vector<std::pair<int, Tensor>> copies;
};

// May the node write this output over this input?
using MayOverwrite = std::function<bool(const Node&, int output, int input)>;

// Assigns places: outputs to their buffers (or the input buffer they alias), everything else to
// offsets in one arena, 64-byte aligned, reused as soon as the last user has run; in place where
// `may_overwrite` allows. A reshape shares its input's place unless the graph returns it.
MemoryPlan plan_memory(const Graph& graph, const MayOverwrite& may_overwrite);

}  // namespace centavo
