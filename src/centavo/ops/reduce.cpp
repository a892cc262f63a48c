// reduce: add, max or min over dimensions; attrs "kind" and sorted "dims".
#include "centavo/ops/reduce.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "centavo/ops/creation.h"
#include "centavo/ops/elementwise.h"
#include "centavo/ops/movement.h"
#include "centavo/ops/registry.h"

namespace centavo {
namespace {

using Ints = std::vector<int64_t>;

bool contains(const Ints& dims, int64_t d) {
  return std::find(dims.begin(), dims.end(), d) != dims.end();
}

// Broadcasts a reduced value back over the dimensions that went.
Tensor spread(const Tensor& reduced, const Shape& shape, const Ints& dims) {
  Ints kept;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (!contains(dims, d)) kept.push_back(d);
  }
  return broadcast_in_dim(reduced, shape, kept);
}

template <class T>
T combine(const std::string& kind, T a, T b) {
  if (kind == "add") return a + b;
  if (kind == "max") return a != a || a > b ? a : b;
  return a != a || a < b ? a : b;
}

std::vector<Array> eval(std::span<const Array> in, const Node& node) {
  const std::string& kind = node.attrs.text("kind");
  const Ints& dims = node.attrs.ints("dims");
  Array out(node.types[0]);
  std::vector<bool> started(static_cast<size_t>(out.size()), false);
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (double& x : out.reals) x = kind == "add" ? 0 : kind == "max" ? -inf : inf;
  size_t from = 0;
  for (IndexIterator it(in[0].type.shape); it.valid(); it.next(), ++from) {
    Ints index;
    for (size_t d = 0; d < it.index().size(); ++d) {
      if (!contains(dims, static_cast<int64_t>(d))) index.push_back(it.index()[d]);
    }
    auto to = static_cast<size_t>(offset_of(out.type.shape, index));
    if (out.floating()) {
      out.reals[to] =
          started[to] ? combine(kind, out.reals[to], in[0].reals[from]) : in[0].reals[from];
    } else {
      out.wholes[to] = started[to]
                           ? wrap(out.type.dtype, combine(kind, out.wholes[to], in[0].wholes[from]))
                           : in[0].wholes[from];
    }
    started[to] = true;
  }
  return {out};
}

std::vector<Tensor> vjp(const VjpArgs& a) {
  const Ints& dims = a.attrs.ints("dims");
  const Shape& shape = a.inputs[0].shape();
  Tensor g = spread(a.grads[0], shape, dims);
  if (a.attrs.text("kind") == "add") return {g};
  // To the winners, in equal parts.
  Tensor won = compare(a.inputs[0], spread(a.outputs[0], shape, dims), Comparison::kEq);
  Tensor ones = convert(won, g.dtype());
  Tensor count = spread(sum(ones, dims), shape, dims);
  return {g * ones / count};
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const char* kind : {"add", "max", "min"}) {
    for (DType dtype : {DType::kF32, DType::kBF16, DType::kI32}) {
      for (Ints dims :
           {Ints{0}, Ints{1}, Ints{2}, Ints{0, 1}, Ints{1, 2}, Ints{0, 1, 2}, Ints{0, 2}}) {
        list.push_back({fmt::format("{}_{}_{}", kind, name_of(dtype), to_string(Shape(dims))),
                        {{{dtype, {5, 17, 33}}, -3, 3}},
                        Attrs().set("kind", kind).set("dims", dims),
                        1e-5,
                        is_floating(dtype) && dims.size() < 3});
      }
    }
  }
  return list;
}

Tensor reduce(const Tensor& x, const char* kind, Ints dims, bool keep, const Loc& loc) {
  for (int64_t& d : dims) d = d < 0 ? d + x.rank() : d;
  std::sort(dims.begin(), dims.end());
  if (dims.empty()) return x;
  Tensor y = record1(op_reduce, {x}, Attrs().set("kind", kind).set("dims", dims), loc);
  if (!keep) return y;
  Ints shape = x.shape().dims();
  for (int64_t d : dims) shape[static_cast<size_t>(d)] = 1;
  return reshape(y, shape, loc);
}

Ints all_dims(const Tensor& x) {
  Ints dims(static_cast<size_t>(x.rank()));
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

}  // namespace

const Op op_reduce = {
    .name = "reduce",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(1);
      const Ints& dims = args.attrs.ints("dims");
      Ints kept;
      for (size_t i = 0; i < dims.size(); ++i) {
        if (dims[i] < 0 || dims[i] >= args.shape(0).rank() || (i > 0 && dims[i] <= dims[i - 1])) {
          args.fail("dimensions {} are not distinct dimensions of {}", to_string(Shape(dims)),
                    to_string(args.type(0)));
        }
      }
      for (int d = 0; d < args.shape(0).rank(); ++d) {
        if (!contains(dims, d)) kept.push_back(args.shape(0)[d]);
      }
      return {{args.dtype(0), Shape(kept)}};
    },
    .vjp = vjp,
    .eval = eval,
    .cost = [](const Node& node) -> Cost {
      const TensorType& in = node.inputs[0].type();
      return {static_cast<double>(in.shape.elements()),
              static_cast<double>(in.bytes() + node.types[0].bytes())};
    },
    .cases = cases,
};

Tensor sum(const Tensor& x, std::vector<int64_t> dims, bool keep, const Loc& loc) {
  return reduce(x, "add", std::move(dims), keep, loc);
}
Tensor sum(const Tensor& x, const Loc& loc) {
  return reduce(x, "add", all_dims(x), false, loc);
}
Tensor max(const Tensor& x, std::vector<int64_t> dims, bool keep, const Loc& loc) {
  return reduce(x, "max", std::move(dims), keep, loc);
}
Tensor min(const Tensor& x, std::vector<int64_t> dims, bool keep, const Loc& loc) {
  return reduce(x, "min", std::move(dims), keep, loc);
}
Tensor mean(const Tensor& x, std::vector<int64_t> dims, bool keep, const Loc& loc) {
  int64_t count = 1;
  for (int64_t d : dims) count *= x.dim(static_cast<int>(d));
  return sum(x, std::move(dims), keep, loc) * (1.0 / static_cast<double>(count));
}
Tensor mean(const Tensor& x, const Loc& loc) {
  return mean(x, all_dims(x), false, loc);
}

}  // namespace centavo
