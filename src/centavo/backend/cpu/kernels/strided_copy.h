// Copies between two strided views of equal extents: what all ops that only move elements come to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "centavo/backend/cpu/kernel.h"
#include "centavo/backend/cpu/kernels/threads.h"
#include "centavo/backend/cpu/kernels/transpose.h"

namespace centavo::cpu {

// Which elements go where; all counts are of elements.
struct StridedViews {
  struct Dim {
    int64_t extent, source, target;  // source and target: how far a step moves in each
  };
  std::vector<Dim> dims;           // in any order
  int64_t source = 0, target = 0;  // first elements
};

// One such copy made ready for elements of 1, 2, 4 or 8 bytes, whatever they mean.
class StridedCopy {
 public:
  StridedCopy(StridedViews views, int64_t element_bytes, CpuLevel level);

  // Part `part` of `parts`; together they make the copy.
  void run(const std::byte* source, std::byte* target, int part = 0, int parts = 1) const;
  int64_t elements() const { return elements_; }

 private:
  using Dim = StridedViews::Dim;
  enum class Way {
    kRows,       // runs that are contiguous on both sides
    kFill,       // runs of one element
    kElements,   // anything else, element by element
    kTranspose,  // the last dimension is contiguous in the target, the one before in the source
  };

  template <class T>
  void run_as(const T* source, T* target, int part, int parts) const;
  void transpose(const std::byte* source, std::byte* target, int part, int parts) const;

  std::vector<Dim> dims_;  // merged, outermost first
  int64_t source_, target_;
  int64_t element_bytes_, elements_ = 1;
  Way way_;
  TransposeBlock transpose_block_ = nullptr;
};

}  // namespace centavo::cpu
