// Attributes of fusion nodes, shared by the pass that makes them and the kernel that runs them.
#pragma once

#include "centavo/backend/cpu/tape/tape.h"
#include "centavo/ir/tensor.h"

namespace centavo::cpu {

// "kind" is "loop" (every output has the loop's elements), "reduce" or "dot"; "body" is what is
// computed, "elements" and "row_length" are the Loop's.
Loop loop_of(const Node& fusion);

// Whether `output` may be written over `input`: each element is read before, and by the thread that
// writes its place.
bool fusion_may_overwrite(const Node& fusion, size_t output, size_t input);

}  // namespace centavo::cpu
