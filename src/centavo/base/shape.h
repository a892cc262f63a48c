// Shape: the extents of a dense, row-major array. Rank 0 is a scalar with one element.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "centavo/base/dtype.h"

namespace centavo {

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  // Extent of dimension i; negative i counts from the end. CHECKs the range.
  int64_t operator[](int i) const;
  const std::vector<int64_t>& dims() const { return dims_; }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }
  // Product of the extents; 1 for a scalar.
  int64_t elements() const;
  // Row-major strides in elements.
  std::vector<int64_t> strides() const;
  bool operator==(const Shape&) const = default;

 private:
  std::vector<int64_t> dims_;
};

// "[16,197,768]"; "[]" for a scalar.
std::string to_string(const Shape& shape);

// What a value is: its element type and extents. Prints as "f32[16,197,768]".
struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;
  int64_t bytes() const { return shape.elements() * size_of(dtype); }
  bool operator==(const TensorType&) const = default;
};
std::string to_string(const TensorType& type);

}  // namespace centavo
