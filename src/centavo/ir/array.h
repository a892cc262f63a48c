// Array: a value of the reference interpreter. Floating types are held in double, the others in
// int64.
#pragma once

#include <cstdint>
#include <vector>

#include "centavo/base/shape.h"
#include "centavo/ir/literal.h"

namespace centavo {

struct Array {
  TensorType type;
  std::vector<double> reals;    // when type.dtype is floating
  std::vector<int64_t> wholes;  // otherwise; wrapped to the dtype's range

  Array() = default;
  explicit Array(TensorType t);  // zeros
  bool floating() const { return is_floating(type.dtype); }
  int64_t size() const { return type.shape.elements(); }
  // Element i whatever the kind.
  double number(int64_t i) const;
  void set(int64_t i, double value);

  // Reads `type` from row-major bytes, and writes it back rounded to the dtype.
  static Array from_bytes(const TensorType& type, const void* bytes);
  void to_bytes(void* bytes) const;
};

// Wraps x to the range of an integer dtype (or to 0/1 for bool).
int64_t wrap(DType dtype, int64_t x);

// Calls f(vector) on the storage in use.
template <class F>
decltype(auto) visit(const Array& a, F&& f) {
  return a.floating() ? f(a.reals) : f(a.wholes);
}

// Counts through all indices of a shape, row-major: while (it.valid()) { it.index(); it.next(); }
class IndexIterator {
 public:
  explicit IndexIterator(const Shape& shape) : shape_(shape), index_(shape.dims().size(), 0) {
    valid_ = shape.elements() > 0;
  }
  bool valid() const { return valid_; }
  const std::vector<int64_t>& index() const { return index_; }
  void next() {
    for (size_t d = index_.size(); d-- > 0;) {
      if (++index_[d] < shape_.dims()[d]) return;
      index_[d] = 0;
    }
    valid_ = false;
  }

 private:
  Shape shape_;
  std::vector<int64_t> index_;
  bool valid_;
};

// Row-major position of an index.
int64_t offset_of(const Shape& shape, const std::vector<int64_t>& index);

}  // namespace centavo
