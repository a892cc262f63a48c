// Compiling a graph for the CPU: passes, memory plan, one kernel a node.
#pragma once

#include <memory>

#include "centavo/backend/backend.h"
#include "centavo/backend/cpu/kernel.h"
#include "centavo/backend/cpu/worker.h"

namespace centavo::cpu {

std::unique_ptr<Executable> compile_executable(const Graph& graph, const KernelContext& context,
                                               std::shared_ptr<Worker> worker);

}  // namespace centavo::cpu
