// Executables by what they compute: equal graphs on the same device are compiled once per process.
#pragma once

#include <memory>

#include "centavo/backend/backend.h"

namespace centavo {

// Compiles, or returns the executable that an equal graph was compiled to on this device. Counts
// "Compile", "CompileNanoseconds" and "CachedCompile". Executables live as long as somebody holds
// them.
std::shared_ptr<Executable> cached_compile(const Graph& graph, const Device& device);

}  // namespace centavo
