// Literal: constant data that is part of a graph. One element stands for a splat of the whole
// shape.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "centavo/base/shape.h"

namespace centavo {

class Literal {
 public:
  // Every element of `type` equals `value`, converted to its dtype.
  static Literal splat(const TensorType& type, double value);
  // The same from the bytes of one element.
  static Literal splat(const TensorType& type, std::vector<std::byte> element);
  // Row-major data; data.size() must be type.bytes().
  Literal(TensorType type, std::vector<std::byte> data);

  const TensorType& type() const { return type_; }
  bool is_splat() const { return splat_; }
  // The bytes of one element for a splat, of all of them otherwise.
  const std::vector<std::byte>& data() const { return data_; }
  // Element i converted to double.
  double value(int64_t i) const;
  bool operator==(const Literal&) const = default;

 private:
  Literal() = default;
  TensorType type_;
  bool splat_ = false;
  std::vector<std::byte> data_;
};

}  // namespace centavo
