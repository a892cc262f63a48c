// A tape while it is being compiled: instructions on values, each written once.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "centavo/backend/cpu/tape/steps.h"

namespace centavo::cpu {

using ValueId = int;

struct DraftValue {
  Lane lane;
  Space space;
  enum Kind : uint8_t {
    kComputed,
    kConstant,  // of `bits`
    kInput,     // read where it lies
    kDot,       // the product's tile
  } kind = kComputed;
  uint32_t bits = 0;
  int input = -1;
};

struct DraftStep {
  enum Kind : uint8_t { kMap, kLoad, kIota, kRandom, kSpread, kRowReduce, kAccumulate, kStore };
  Kind kind = kMap;
  Verb verb{};    // of a map
  Lane lane{};    // of a map's or a reduction's operands
  DType dtype{};  // of what is loaded, stored or counted
  ReduceKind reduce{};
  Space space = Space::kFull;  // how many elements the instruction works on
  ValueId dst = -1;
  ValueId operands[3] = {-1, -1, -1};
  int index = -1;  // of an input, output or accumulator
  Access access;
  int64_t argument = 0;

  bool operator==(const DraftStep&) const = default;
};

struct Draft {
  Loop loop;
  bool blocks = false;  // runs on blocks of a product, not on runs of elements
  std::vector<DraftValue> values;
  std::vector<DraftStep> steps;
  std::vector<Reduction> reductions;

  // Where a row fills a tile, one value per row is one number for the whole tile.
  bool one_row_per_tile() const { return loop.row_length >= 384; }
  // Whether an instruction on `space` reads this operand as one number.
  bool is_single(ValueId value, Space space) const {
    const Space own = values[static_cast<size_t>(value)].space;
    return own == Space::kScalar ||
           (own == Space::kRow && space == Space::kFull && one_row_per_tile());
  }
};

// From a body, following its values back from the outputs.
Draft draft_tape(const Graph& body, const Loop& loop);
// Joins multiplications and additions, and drops what nobody reads.
void simplify_draft(Draft& draft);
// Orders stores, chooses registers and the tile's size.
Tape assemble(const Draft& draft, CpuLevel level);

}  // namespace centavo::cpu
