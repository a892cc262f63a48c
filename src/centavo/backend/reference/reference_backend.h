// The oracle: interprets every primitive in double, slow and obvious. It judges all other backends.
#pragma once

#include "centavo/backend/backend.h"
#include "centavo/ir/array.h"

namespace centavo {

Device make_reference_backend();

// Interprets a graph. Values between ops keep double precision whatever their dtype says.
std::vector<Array> interpret(const Graph& graph, const std::vector<Array>& inputs);

}  // namespace centavo
