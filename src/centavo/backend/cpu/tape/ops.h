// Which ops tapes have, and which instruction each is.
#pragma once

#include <optional>

#include "centavo/backend/cpu/tape/steps.h"
#include "centavo/ir/op.h"

namespace centavo::cpu {

// How values of a dtype lie in registers; nothing for those of 64 bits.
std::optional<Lane> lane_of(DType dtype);
// The instruction of an elementwise node; nothing when there is none.
std::optional<Verb> verb_of(const Node& node);
ReduceKind reduce_kind(const Node& reduce);
// A constant whose elements are all the same.
bool is_splat(const Node& node);

// Whether an elementwise node, a view, a constant of one number, an iota, a reduction or a random
// number can be part of a tape.
bool runs_on_tape(const Node& node);

// Whether the loop has the reduction's result at hand in each tile.
bool reduces_rows(const Node& reduce, const Loop& loop);

}  // namespace centavo::cpu
