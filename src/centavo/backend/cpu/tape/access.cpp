// Digits: splitting them at the boundaries of dimensions, and merging them again.
#include "centavo/backend/cpu/tape/access.h"

#include <algorithm>

#include "centavo/ops/registry.h"

namespace centavo::cpu {
namespace {

using Ints = std::vector<int64_t>;
using Digit = Access::Digit;

// Appends a digit inside the last one, or widens that.
void append(std::vector<Digit>& digits, Digit inner) {
  if (inner.extent == 1) return;
  if (!digits.empty() && digits.back().stride == inner.stride * inner.extent)
    digits.back() = {digits.back().extent * inner.extent, inner.stride};
  else
    digits.push_back(inner);
}

// What a view reads along each dimension of its result: the input's stride, and where it starts.
struct Walk {
  Ints strides;
  int64_t offset = 0;
};

Walk walk_of(const Node& view) {
  const auto rank = static_cast<size_t>(view.types[0].shape.rank());
  Walk walk{Ints(rank, 0)};
  if (view.op == &op_iota) {
    walk.strides[static_cast<size_t>(view.attrs.integer("axis"))] = 1;
    return walk;
  }
  const Shape& in = view.inputs[0].shape();
  const Ints strides = in.strides();
  if (view.op == &op_broadcast_in_dim) {
    const Ints& dims = view.attrs.ints("dims");
    for (size_t i = 0; i < dims.size(); ++i) {
      if (in.dims()[i] != 1) walk.strides[static_cast<size_t>(dims[i])] = strides[i];
    }
  } else if (view.op == &op_transpose) {
    const Ints& permutation = view.attrs.ints("permutation");
    for (size_t d = 0; d < rank; ++d)
      walk.strides[d] = strides[static_cast<size_t>(permutation[d])];
  } else {
    CENTAVO_CHECK(view.op == &op_slice, "{} is no view", view.op->name);
    const Ints &start = view.attrs.ints("start"), &steps = view.attrs.ints("strides");
    for (size_t d = 0; d < rank; ++d) {
      walk.strides[d] = strides[d] * steps[d];
      walk.offset += start[d] * strides[d];
    }
  }
  return walk;
}

// The dimensions of a result, and how far into each of them an access reaches.
class Reach {
 public:
  Reach(const Shape& shape, int64_t offset) : dims_(shape.dims()), strides_(shape.strides()) {
    for (size_t d = 0; d < dims_.size(); ++d) {
      first_.push_back(offset / strides_[d]);
      last_.push_back(first_[d]);
      offset %= strides_[d];
    }
  }
  int64_t first(size_t d) const { return first_[d]; }
  size_t rank() const { return dims_.size(); }

  // The dimension in which steps of `stride` move, and by how much; null when they straddle two.
  struct Move {
    size_t dim;
    int64_t by;
  };
  std::optional<Move> move(int64_t stride) const {
    for (size_t d = 0; d < dims_.size(); ++d) {
      if (dims_[d] == 1 || strides_[d] > stride) continue;
      if (stride % strides_[d] != 0 || stride / strides_[d] >= dims_[d]) return {};
      return Move{d, stride / strides_[d]};
    }
    return {};
  }
  // How many steps fit the dimension.
  int64_t room(Move m) const { return (dims_[m.dim] + m.by - 1) / m.by; }
  bool extend(Move m, int64_t steps) {
    last_[m.dim] += m.by * steps;
    return last_[m.dim] < dims_[m.dim];
  }

 private:
  Ints dims_, strides_, first_, last_;
};

}  // namespace

Access Access::identity(int64_t n) {
  Access access;
  append(access.digits, {n, 1});
  return access;
}

bool Access::is_identity() const {
  return offset == 0 && (digits.empty() || (digits.size() == 1 && digits[0].stride == 1));
}

bool Access::is_constant() const {
  return std::all_of(digits.begin(), digits.end(), [](const Digit& d) { return d.stride == 0; });
}

bool is_view(const Node& node) {
  if (node.op == &op_reduce)
    return node.types[0].shape.elements() == node.inputs[0].shape().elements();
  return node.op == &op_reshape || node.op == &op_broadcast_in_dim || node.op == &op_slice ||
         node.op == &op_transpose || node.op == &op_iota;
}

std::optional<Access> through_view(const Node& view, const Access& access) {
  if (view.op == &op_reshape || view.op == &op_reduce) return access;
  const Walk walk = walk_of(view);
  Reach reach(view.types[0].shape, access.offset);
  Access result;
  result.offset = walk.offset;
  for (size_t d = 0; d < reach.rank(); ++d) result.offset += reach.first(d) * walk.strides[d];
  // Outermost digit last in `reversed`: a digit is split from the inside out.
  std::vector<Digit> reversed;
  for (size_t i = access.digits.size(); i-- > 0;) {
    Digit digit = access.digits[i];
    while (digit.stride != 0) {
      std::optional<Reach::Move> move = reach.move(digit.stride);
      if (!move) return {};
      const int64_t room = reach.room(*move);
      const int64_t steps = std::min(room, digit.extent);
      if (digit.extent % steps != 0 || !reach.extend(*move, steps - 1)) return {};
      reversed.push_back({steps, move->by * walk.strides[move->dim]});
      digit = {digit.extent / steps, digit.stride * steps};
      if (digit.extent == 1) break;
    }
    if (digit.stride == 0) reversed.push_back(digit);
  }
  for (size_t i = reversed.size(); i-- > 0;) append(result.digits, reversed[i]);
  if (result.digits.size() > kMaxDigits) return {};
  return result;
}

std::optional<Access> per_row(const Access& access, int64_t length) {
  Access rows = access;
  for (; length > 1; rows.digits.pop_back()) {
    if (rows.digits.empty() || rows.digits.back().stride != 0) return {};
    Digit& last = rows.digits.back();
    if (last.extent > length) {
      if (last.extent % length != 0) return {};
      last.extent /= length;
      return rows;
    }
    if (length % last.extent != 0) return {};
    length /= last.extent;
  }
  return rows;
}

Access reduced_access(const Shape& shape, const std::vector<int64_t>& dims) {
  Access access;
  std::vector<Digit> reversed;
  int64_t stride = 1;
  for (int64_t d = shape.rank(); d-- > 0;) {
    const int64_t extent = shape.dims()[static_cast<size_t>(d)];
    const bool reduced = std::find(dims.begin(), dims.end(), d) != dims.end();
    reversed.push_back({extent, reduced ? 0 : stride});
    if (!reduced) stride *= extent;
  }
  for (size_t i = reversed.size(); i-- > 0;) append(access.digits, reversed[i]);
  return access;
}

}  // namespace centavo::cpu
