// Access: where a loop over n elements, numbered in row-major order, finds a value's element. Views
// (broadcasts, slices, transposes) change the access and copy nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "centavo/ir/tensor.h"

namespace centavo::cpu {

// More digits than any access has; through_view gives up sooner.
constexpr size_t kMaxDigits = 16;

// The loop's number written in a mixed radix, the outermost digit first, has one entry per digit;
// the element is offset + sum(digit * stride).
struct Access {
  struct Digit {
    int64_t extent, stride;
    bool operator==(const Digit&) const = default;
  };
  int64_t offset = 0;
  std::vector<Digit> digits;  // no extents of 1, no neighbours that could be one digit

  // Element i at step i.
  static Access identity(int64_t n);

  bool is_identity() const;
  // The same element at every step.
  bool is_constant() const;
  bool operator==(const Access&) const = default;
};

// A loop reads `view`'s result by `access`: how it reads the view's input instead. For an iota, the
// "element" read is the number itself. Nothing when the loop's digits cannot be matched to the
// result's dimensions.
std::optional<Access> through_view(const Node& view, const Access& access);
// reshape, broadcast_in_dim, slice, transpose, iota, and reductions of single elements.
bool is_view(const Node& node);

// The access of a loop over rows only, if `access` reads one element per `length` steps.
std::optional<Access> per_row(const Access& access, int64_t length);

// How a loop over `shape` finds the place of each element in the result of a sum over `dims`.
Access reduced_access(const Shape& shape, const std::vector<int64_t>& dims);

}  // namespace centavo::cpu
