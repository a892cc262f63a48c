// Running a tape on one thread: registers in scratch memory, inputs and outputs where they lie.
#include <algorithm>
#include <cstring>

#include "centavo/backend/cpu/tape/tape.h"
#include "centavo/base/error.h"

namespace centavo::cpu {
namespace {

constexpr int64_t kLine = 64;
constexpr int64_t kWord = 4;

int64_t round_up(int64_t bytes) {
  return (bytes + kLine - 1) / kLine * kLine;
}

int64_t tile_rows(const Tape& tape) {
  return tape.loop.row_length > 0 ? tape.tile / tape.loop.row_length : 0;
}

// A register's bytes; a spare line keeps neighbours from falling on the same lines of L1.
int64_t register_bytes(const Tape& tape, Space space) {
  switch (space) {
    case Space::kScalar:
      return kLine;
    case Space::kRow:
      return round_up(tile_rows(tape) * kWord);
    case Space::kFull:
      return round_up(tape.tile * kWord) + kLine;
  }
  CENTAVO_UNREACHABLE();
}

}  // namespace

int64_t TapeRun::scratch_bytes(const Tape& tape) {
  int64_t bytes = round_up(static_cast<int64_t>(tape.spaces.size() * sizeof(std::byte*)));
  for (Space space : tape.spaces) bytes += register_bytes(tape, space);
  return bytes;
}

TapeRun::TapeRun(const Tape& tape, std::span<const std::byte* const> inputs,
                 std::span<std::byte* const> outputs, std::byte* memory)
    : tape_(tape), registers_(reinterpret_cast<std::byte**>(memory)) {
  memory += round_up(static_cast<int64_t>(tape.spaces.size() * sizeof(std::byte*)));
  for (size_t r = 0; r < tape.spaces.size(); ++r) {
    registers_[r] = memory;
    memory += register_bytes(tape, tape.spaces[r]);
  }
  for (const Constant& constant : tape.constants)
    std::memcpy(registers_[constant.reg], &constant.bits, sizeof constant.bits);
  tile_.registers = registers_;
  tile_.inputs = inputs.data();
  tile_.outputs = outputs.data();
  tile_.accesses = tape.accesses.data();
  tile_.row_length = tape.loop.row_length;
  tile_.counts[static_cast<size_t>(Space::kScalar)] = 1;
  for (const Step& step : tape.prologue) step.run(step, tile_);
}

// For whole tiles from `start` on, wherever the loop ends.
void TapeRun::make_periodic(int64_t start) {
  if (tape_.periodic.empty() || start % tape_.period == phase_) return;
  phase_ = start % tape_.period;
  tile_.start = start;
  tile_.rows = 1;
  tile_.cols = tape_.tile;
  tile_.counts[static_cast<size_t>(Space::kFull)] = tape_.tile;
  for (const Step& step : tape_.periodic) step.run(step, tile_);
}

void TapeRun::run(int64_t begin, int64_t end) {
  for (int64_t start = begin; start < end; start += tape_.tile) {
    make_periodic(start);
    const int64_t count = std::min(tape_.tile, end - start);
    tile_.start = start;
    tile_.rows = 1;
    tile_.cols = count;
    tile_.counts[static_cast<size_t>(Space::kFull)] = count;
    if (tile_.row_length > 0) {
      tile_.row = start / tile_.row_length;
      tile_.counts[static_cast<size_t>(Space::kRow)] = count / tile_.row_length;
    }
    for (const DirectRegister& direct : tape_.direct) {
      const int64_t at = (direct.space == Space::kRow ? tile_.row : start) * kWord;
      registers_[direct.reg] = direct.is_output
                                   ? tile_.outputs[direct.index] + at
                                   : const_cast<std::byte*>(tile_.inputs[direct.index]) + at;
    }
    for (const Step& step : tape_.steps) step.run(step, tile_);
  }
}

void TapeRun::run_block(int64_t start, int64_t rows, int64_t cols, int64_t pitch, const float* dot,
                        int64_t stride) {
  // Several rows at a time if they fit a tile, else parts of one.
  const int64_t height = std::max<int64_t>(1, tape_.tile / stride);
  const int64_t width = height > 1 ? cols : tape_.tile;
  tile_.pitch = pitch;
  tile_.stride = stride;
  for (int64_t row = 0; row < rows; row += height) {
    for (int64_t col = 0; col < cols; col += width) {
      tile_.start = start + row * pitch + col;
      tile_.rows = std::min(height, rows - row);
      tile_.cols = std::min(width, cols - col);
      tile_.counts[static_cast<size_t>(Space::kFull)] = (tile_.rows - 1) * stride + tile_.cols;
      if (tape_.dot_register >= 0) {
        registers_[tape_.dot_register] =
            reinterpret_cast<std::byte*>(const_cast<float*>(dot + row * stride + col));
      }
      // The first rows are the most.
      if (row == 0 || width < cols) {
        for (const Step& step : tape_.periodic) step.run(step, tile_);
      }
      for (const Step& step : tape_.steps) step.run(step, tile_);
    }
  }
}

}  // namespace centavo::cpu
