// Collector: what one thread has gathered of one reduction, for a window of its result.
#pragma once

#include "centavo/backend/cpu/tape/tape.h"

namespace centavo::cpu {

struct Range {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};
// The part-th of `parts` nearly equal parts of [0, size), cut at multiples of `unit`.
Range share(int64_t size, int64_t unit, int64_t part, int64_t parts);

// Sums in fp32 are moved to double every so often, so that their error does not grow with the
// number of terms.
class Collector {
 public:
  // `memory` has bytes(window), aligned to 64.
  Collector(const Reduction& reduction, int64_t window, std::byte* memory);
  static int64_t bytes(int64_t window);

  // Forgets everything and begins at element `first` of the result.
  void begin(int64_t first);
  Accumulator accumulator() const { return {parts_, first_}; }
  // Tells that `count` elements of the loop have been gathered.
  void advance(int64_t count) {
    gathered_ += count;
    if (gathered_ >= kTermsInPart * window_) flush();
  }
  void flush() { flush({0, window_}); }
  // For a range of the window only.
  void flush(Range range);
  // Takes over what `other` has for a range of the window; both are flushed.
  void add(const Collector& other, Range range);
  // Writes that range to its place in the result.
  void write(std::byte* output, Range range) const;

 private:
  static constexpr int64_t kTermsInPart = 32;

  bool keeps_totals() const;
  template <class F>
  void visit(F f) const;

  const Reduction* reduction_;
  int64_t window_, first_ = 0, gathered_ = 0;
  std::byte* parts_;  // in the lanes of the loop
  double* totals_;
};

}  // namespace centavo::cpu
