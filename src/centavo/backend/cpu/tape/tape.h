// Tape: a fused loop as a short list of vector instructions. Each works on one tile of the loop,
// a run of elements whose intermediate values stay in L1, and is called once per tile.
//
// All values of floating types are fp32 in the tile and are rounded to bf16 when stored. Integers
// and bools have 32-bit lanes; a true bool has all bits set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "centavo/backend/cpu/cpu_level.h"
#include "centavo/backend/cpu/tape/access.h"
#include "centavo/ir/graph.h"

namespace centavo::cpu {

struct Step;

// How many elements a register holds: one for the whole loop, one per row, or one per element.
enum class Space : uint8_t { kScalar, kRow, kFull };

// Where a sum, maximum or minimum is collected over many tiles.
struct Accumulator {
  std::byte* data;
  int64_t first;  // the result's element at `data`
};

// The part of the loop that steps work on: `rows` runs of `cols` elements, `pitch` apart in the
// loop, `stride` apart in registers. Most tiles are one run.
struct Tile {
  std::byte* const* registers;
  const std::byte* const* inputs;
  std::byte* const* outputs;
  const Accumulator* accumulators;
  const Access* accesses;
  int64_t start;  // first element
  int64_t rows, cols, pitch, stride;
  int64_t row, row_length;  // of loops over whole rows: the first one, and its length
  int64_t counts[3];        // elements of a register, by Space
};

// One instruction. Registers and accesses are the tape's, by number.
struct Step {
  void (*run)(const Step&, const Tile&) = nullptr;
  uint16_t dst = 0, a = 0, b = 0, c = 0;
  uint16_t index = 0;  // of an input, output or accumulator
  uint16_t access = 0;
  Space space = Space::kFull;
  int64_t argument = 0;  // rng: the stream
};

// A register that lies in an input or output, at the tile's place.
struct DirectRegister {
  uint16_t reg;
  uint16_t index;  // of the input or output
  bool is_output;
  Space space;
};

// What a register's lanes hold. Bytes are kept in range by converts and loads, so kU8 is a kU32
// below 256.
enum class Lane : uint8_t { kF32, kI32, kU32, kBool, kU8, kI8 };

struct Constant {
  uint16_t reg;
  uint32_t bits;
};

enum class ReduceKind : uint8_t { kAdd, kMax, kMin };

// A reduction whose result is complete only when the loop is.
struct Reduction {
  int output;
  DType dtype;  // of the output
  Lane lane;    // of the accumulator
  ReduceKind kind;
  Access access;  // element of the loop -> element of the result
  int64_t size;   // of the result
};

// The loop that a fusion's body stands for.
struct Loop {
  int64_t elements = 0;
  // Not 0: every tile is whole rows of this length, so that sums along rows are at hand in the
  // tile.
  int64_t row_length = 0;
  // Of loops over blocks of a product: its columns.
  int64_t columns = 0;

  int64_t rows() const { return row_length > 0 ? elements / row_length : 0; }
};

struct Tape {
  Loop loop;
  int64_t tile = 0;           // elements of a tile
  std::vector<Space> spaces;  // by register
  std::vector<DirectRegister> direct;
  std::vector<Constant> constants;
  std::vector<Access> accesses;
  std::vector<Reduction> reductions;  // accumulator i is reduction i's
  std::vector<Step> prologue;         // scalars, once per thread
  // Values that repeat after `period` elements, such as one per channel: they stay in registers
  // and are made again only for a tile that starts at another phase.
  int64_t period = 0;
  std::vector<Step> periodic;
  std::vector<Step> steps;
  int dot_register = -1;  // holds the product in loops over blocks of one
};

// Compiles a fusion's body. Its outputs have one value per element or one per row of the loop, or
// are reductions of it. CHECKs that the body is one that the fuse pass makes.
Tape compile_tape(const Graph& body, const Loop& loop, CpuLevel level);

// Registers and scalars of one thread for one run of a tape.
class TapeRun {
 public:
  // `memory` has scratch_bytes(tape), aligned to 64 bytes.
  TapeRun(const Tape& tape, std::span<const std::byte* const> inputs,
          std::span<std::byte* const> outputs, std::byte* memory);
  static int64_t scratch_bytes(const Tape& tape);

  void set_accumulators(const Accumulator* accumulators) { tile_.accumulators = accumulators; }
  // Elements [begin, end), tile by tile.
  void run(int64_t begin, int64_t end);
  // rows x cols elements from `start` on, `pitch` apart; the product of element (i, j) is at
  // dot[i * stride + j].
  void run_block(int64_t start, int64_t rows, int64_t cols, int64_t pitch, const float* dot,
                 int64_t stride);

 private:
  void make_periodic(int64_t start);

  const Tape& tape_;
  Tile tile_{};
  std::byte** registers_;
  int64_t phase_ = -1;  // at which the periodic registers start
};

}  // namespace centavo::cpu
