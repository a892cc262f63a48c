// An operand of a product as `size` strips along K: rows of A or columns of B. Where strips lie,
// how they are packed, and what memory that touches. Internal to gemm.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "centavo/backend/cpu/kernels/ahead.h"
#include "centavo/backend/cpu/kernels/gemm.h"
#include "centavo/backend/cpu/kernels/micro.h"

namespace centavo::cpu {

inline int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

struct Range {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

// The part-th of `parts` nearly equal parts of `range`, cut at multiples of `unit` from its begin.
inline Range share(Range range, int64_t unit, int64_t part, int64_t parts) {
  const int64_t units = ceil_div(range.size(), unit);
  return {std::min(range.end, range.begin + units * part / parts * unit),
          std::min(range.end, range.begin + units * (part + 1) / parts * unit)};
}

// Strips as micro-kernels read them: in panels of `unit`, or one by one where they lie.
struct Strips {
  const std::byte* data = nullptr;
  int64_t origin = 0;  // the strip at `data`
  int64_t unit = 1;
  int64_t unit_bytes = 0;   // from one panel to the next
  int64_t strip_bytes = 0;  // from one strip to the next in a panel
  int64_t step_bytes = 0;   // from one word of K to the next

  const std::byte* at(int64_t strip, int64_t step) const {
    return data + (strip - origin) / unit * unit_bytes + step * step_bytes;
  }
  void add_to(AheadQueue& queue, Range strips, Range steps) const {
    queue.add(at(strips.begin, steps.begin), ceil_div(strips.size(), unit), unit_bytes,
              steps.size() * step_bytes);
  }
};

class Operand {
 public:
  static Operand a(const GemmSpec& spec, const Micro& micro, const void* data);
  static Operand b(const GemmSpec& spec, const Micro& micro, const void* data);
  static Operand b(const GemmSpec& spec, const Micro& micro, const PackedMatrix& packed);

  int64_t size() const { return size_; }
  int64_t unit() const { return unit_; }  // strips in a panel
  // Products read it as it is; nothing below but strips() is called then.
  bool ready() const { return state_ != State::kRaw; }
  bool differs_by_batch() const { return batch_bytes_ != 0; }

  // Bytes of the panels of `strips` strips.
  int64_t packed_bytes(int64_t strips) const;
  // Packs the steps [steps.begin, steps.end) of some strips into `panels`, where panel 0 begins
  // with strip `origin`.
  void pack(int64_t batch, Range strips, Range steps, int64_t origin, std::byte* panels) const;
  // What pack() will read.
  void add_source_to(AheadQueue& queue, int64_t batch, Range strips, Range steps) const;
  // The strips as they lie, if ready(), or else as packed with the same arguments.
  Strips strips(int64_t batch, int64_t origin, const std::byte* panels) const;

 private:
  enum class State : uint8_t { kRaw, kInPlace, kPacked };
  static constexpr int64_t kWord = sizeof(float);

  Range elements(Range steps) const {
    return {steps.begin * micro_->depth, std::min(steps.end * micro_->depth, k_)};
  }
  const std::byte* at(int64_t batch, int64_t strip, int64_t k) const {
    return data_ + batch * batch_bytes_ + strip * strip_bytes_ + k * k_bytes_;
  }

  const Micro* micro_ = nullptr;
  const std::byte* data_ = nullptr;
  DType dtype_ = DType::kF32;
  State state_ = State::kRaw;
  int64_t size_ = 0, k_ = 0, unit_ = 1;
  int64_t strip_bytes_ = 0, k_bytes_ = 0, batch_bytes_ = 0;
};

}  // namespace centavo::cpu
