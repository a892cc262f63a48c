// reshape, transpose, broadcast_in_dim, slice, pad and concatenate. Each eval maps output positions
// to input ones.
#include "centavo/ops/movement.h"

#include <algorithm>
#include <numeric>

#include "centavo/ops/reduce.h"
#include "centavo/ops/registry.h"

namespace centavo {
namespace {

// An output whose element at each index is the input's element at source(index); a negative
// position is skipped.
template <class Source>
Array gather(const Array& in, const TensorType& type, Source source) {
  Array out(type);
  size_t i = 0;
  for (IndexIterator it(type.shape); it.valid(); it.next(), ++i) {
    int64_t at = source(it.index());
    if (at < 0) continue;
    if (out.floating())
      out.reals[i] = in.reals[static_cast<size_t>(at)];
    else
      out.wholes[i] = in.wholes[static_cast<size_t>(at)];
  }
  return out;
}

Cost moved_bytes(const Node& node) {
  double bytes = 0;
  for (const TensorType& type : node.types) bytes += 2 * static_cast<double>(type.bytes());
  return {0, bytes};
}
Cost free_of_charge(const Node&) {
  return {};
}

Case case_of(std::string label, Shape shape, Attrs attrs, DType dtype = DType::kF32) {
  return {std::move(label),
          {{{dtype, std::move(shape)}, -2, 2}},
          std::move(attrs),
          0,
          is_floating(dtype)};
}

using Ints = std::vector<int64_t>;

}  // namespace

const Op op_reshape = {
    .name = "reshape",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(1);
      Shape shape(args.attrs.ints("shape"));
      if (std::any_of(shape.begin(), shape.end(), [](int64_t d) { return d < 0; }) ||
          shape.elements() != args.shape(0).elements()) {
        args.fail("cannot make {} of {} ({} elements)", to_string(shape), to_string(args.type(0)),
                  args.shape(0).elements());
      }
      return {{args.dtype(0), shape}};
    },
    .vjp = [](const VjpArgs& a) -> std::vector<Tensor> {
      return {reshape(a.grads[0], a.inputs[0].shape().dims())};
    },
    .eval = [](std::span<const Array> in, const Node& node) -> std::vector<Array> {
      Array out = in[0];
      out.type = node.types[0];
      return {out};
    },
    .cost = free_of_charge,
    .cases = []() -> std::vector<Case> {
      return {case_of("merge", {3, 5, 7}, Attrs().set("shape", Ints{15, 7})),
              case_of("split_bf16", {12}, Attrs().set("shape", Ints{3, 1, 4}), DType::kBF16),
              case_of("scalar", {1, 1}, Attrs().set("shape", Ints{})),
              case_of("i32", {2, 3}, Attrs().set("shape", Ints{3, 2}), DType::kI32)};
    },
};

const Op op_optimization_barrier = {
    .name = "optimization_barrier",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(2);
      return {args.type(0)};
    },
    .vjp = [](const VjpArgs& a) -> std::vector<Tensor> {
      return {a.grads[0], Tensor()};
    },
    .eval = [](std::span<const Array> in, const Node&) -> std::vector<Array> { return {in[0]}; },
    .cost = free_of_charge,
    .cases = []() -> std::vector<Case> {
      return {{"f32", {{{DType::kF32, {3, 5}}}, {{DType::kBF16, {7}}, -1, 1, false}}, {}, 0}};
    },
};

const Op op_transpose = {
    .name = "transpose",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(1);
      const Ints& permutation = args.attrs.ints("permutation");
      Ints sorted = permutation;
      std::sort(sorted.begin(), sorted.end());
      Ints identity(static_cast<size_t>(args.shape(0).rank()));
      std::iota(identity.begin(), identity.end(), 0);
      if (sorted != identity) {
        args.fail("{} is no permutation of the dimensions of {}", to_string(Shape(permutation)),
                  to_string(args.type(0)));
      }
      Ints dims;
      for (int64_t p : permutation) dims.push_back(args.shape(0)[static_cast<int>(p)]);
      return {{args.dtype(0), Shape(dims)}};
    },
    .vjp = [](const VjpArgs& a) -> std::vector<Tensor> {
      const Ints& permutation = a.attrs.ints("permutation");
      Ints inverse(permutation.size());
      for (size_t i = 0; i < permutation.size(); ++i)
        inverse[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
      return {transpose(a.grads[0], inverse)};
    },
    .eval = [](std::span<const Array> in, const Node& node) -> std::vector<Array> {
      const Ints& permutation = node.attrs.ints("permutation");
      Ints strides = in[0].type.shape.strides();
      return {gather(in[0], node.types[0], [&](const Ints& index) {
        int64_t at = 0;
        for (size_t i = 0; i < index.size(); ++i)
          at += index[i] * strides[static_cast<size_t>(permutation[i])];
        return at;
      })};
    },
    .cost = moved_bytes,
    .cases = []() -> std::vector<Case> {
      return {
          case_of("matrix", {17, 33}, Attrs().set("permutation", Ints{1, 0})),
          case_of("matrix_bf16", {33, 17}, Attrs().set("permutation", Ints{1, 0}), DType::kBF16),
          case_of("heads", {2, 5, 3, 4}, Attrs().set("permutation", Ints{0, 2, 1, 3})),
          case_of("rotate", {3, 5, 7}, Attrs().set("permutation", Ints{2, 0, 1})),
          case_of("i32", {3, 2}, Attrs().set("permutation", Ints{1, 0}), DType::kI32)};
    },
};

const Op op_broadcast_in_dim = {
    .name = "broadcast_in_dim",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(1);
      Shape shape(args.attrs.ints("shape"));
      const Ints& dims = args.attrs.ints("dims");
      bool fits = static_cast<int>(dims.size()) == args.shape(0).rank();
      for (size_t i = 0; fits && i < dims.size(); ++i) {
        int64_t extent = args.shape(0)[static_cast<int>(i)];
        fits = dims[i] >= 0 && dims[i] < shape.rank() && (i == 0 || dims[i] > dims[i - 1]) &&
               (extent == 1 || extent == shape[static_cast<int>(dims[i])]);
      }
      if (!fits)
        args.fail("{} does not broadcast to {} along {}", to_string(args.type(0)), to_string(shape),
                  to_string(Shape(dims)));
      return {{args.dtype(0), shape}};
    },
    .vjp = [](const VjpArgs& a) -> std::vector<Tensor> {
      const Ints& dims = a.attrs.ints("dims");
      const Shape& in = a.inputs[0].shape();
      const Shape& out = a.grads[0].shape();
      Ints summed;
      for (int d = 0; d < out.rank(); ++d) {
        auto at = std::find(dims.begin(), dims.end(), d);
        if (at == dims.end() || (in[static_cast<int>(at - dims.begin())] == 1 && out[d] != 1))
          summed.push_back(d);
      }
      return {reshape(sum(a.grads[0], summed), in.dims())};
    },
    .eval = [](std::span<const Array> in, const Node& node) -> std::vector<Array> {
      const Ints& dims = node.attrs.ints("dims");
      const Shape& shape = in[0].type.shape;
      Ints strides = shape.strides();
      return {gather(in[0], node.types[0], [&](const Ints& index) {
        int64_t at = 0;
        for (size_t i = 0; i < dims.size(); ++i) {
          if (shape.dims()[i] != 1) at += index[static_cast<size_t>(dims[i])] * strides[i];
        }
        return at;
      })};
    },
    .cost = [](const Node& node) -> Cost {
      return {0, static_cast<double>(node.types[0].bytes())};
    },
    .cases = []() -> std::vector<Case> {
      return {case_of("scalar", {}, Attrs().set("shape", Ints{3, 5}).set("dims", Ints{})),
              case_of("row", {17}, Attrs().set("shape", Ints{5, 17}).set("dims", Ints{1})),
              case_of("column", {5}, Attrs().set("shape", Ints{5, 17}).set("dims", Ints{0})),
              case_of("ones", {3, 1, 4},
                      Attrs().set("shape", Ints{3, 6, 4}).set("dims", Ints{0, 1, 2})),
              case_of("bf16", {4}, Attrs().set("shape", Ints{2, 4, 3}).set("dims", Ints{1}),
                      DType::kBF16)};
    },
};

const Op op_reverse = {
    .name = "reverse",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(1);
      for (int64_t d : args.attrs.ints("dims")) {
        if (d < 0 || d >= args.shape(0).rank())
          args.fail("dimension {} is outside {}", d, to_string(args.type(0)));
      }
      return {args.type(0)};
    },
    .vjp = [](const VjpArgs& a) -> std::vector<Tensor> {
      return {reverse(a.grads[0], a.attrs.ints("dims"))};
    },
    .eval = [](std::span<const Array> in, const Node& node) -> std::vector<Array> {
      const Shape& shape = in[0].type.shape;
      return {gather(in[0], node.types[0], [&](Ints index) {
        for (int64_t d : node.attrs.ints("dims")) {
          auto at = static_cast<size_t>(d);
          index[at] = shape.dims()[at] - 1 - index[at];
        }
        return offset_of(shape, index);
      })};
    },
    .cost = moved_bytes,
    .cases = []() -> std::vector<Case> {
      return {case_of("kernel", {4, 3, 3, 2}, Attrs().set("dims", Ints{1, 2})),
              case_of("bf16", {5}, Attrs().set("dims", Ints{0}), DType::kBF16)};
    },
};

const Op op_slice = {
    .name = "slice",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(1);
      const Ints &start = args.attrs.ints("start"), &limit = args.attrs.ints("limit"),
                 &strides = args.attrs.ints("strides");
      auto rank = static_cast<size_t>(args.shape(0).rank());
      bool fits = start.size() == rank && limit.size() == rank && strides.size() == rank;
      Ints dims;
      for (size_t d = 0; fits && d < rank; ++d) {
        fits = start[d] >= 0 && start[d] <= limit[d] &&
               limit[d] <= args.shape(0)[static_cast<int>(d)] && strides[d] > 0;
        if (fits) dims.push_back((limit[d] - start[d] + strides[d] - 1) / strides[d]);
      }
      if (!fits) {
        args.fail("[{} to {} by {}] is outside {}", to_string(Shape(start)),
                  to_string(Shape(limit)), to_string(Shape(strides)), to_string(args.type(0)));
      }
      return {{args.dtype(0), Shape(dims)}};
    },
    .vjp = [](const VjpArgs& a) -> std::vector<Tensor> {
      const Ints &start = a.attrs.ints("start"), &strides = a.attrs.ints("strides");
      Ints high, interior;
      for (size_t d = 0; d < start.size(); ++d) {
        int64_t extent = a.grads[0].shape().dims()[d];
        int64_t covered = extent == 0 ? 0 : (extent - 1) * strides[d] + 1;
        high.push_back(a.inputs[0].shape().dims()[d] - start[d] - covered);
        interior.push_back(strides[d] - 1);
      }
      return {pad(a.grads[0], 0, start, high, interior)};
    },
    .eval = [](std::span<const Array> in, const Node& node) -> std::vector<Array> {
      const Ints &start = node.attrs.ints("start"), &strides = node.attrs.ints("strides");
      Ints in_strides = in[0].type.shape.strides();
      return {gather(in[0], node.types[0], [&](const Ints& index) {
        int64_t at = 0;
        for (size_t d = 0; d < index.size(); ++d)
          at += (start[d] + index[d] * strides[d]) * in_strides[d];
        return at;
      })};
    },
    .cost = moved_bytes,
    .cases = []() -> std::vector<Case> {
      auto attrs = [](Ints start, Ints limit, Ints strides) {
        return Attrs().set("start", start).set("limit", limit).set("strides", strides);
      };
      return {
          case_of("inner", {5, 17}, attrs({1, 3}, {4, 10}, {1, 1})),
          case_of("strided", {7, 9}, attrs({0, 1}, {7, 9}, {2, 3})),
          case_of("first_token", {2, 5, 3}, attrs({0, 0, 0}, {2, 1, 3}, {1, 1, 1}), DType::kBF16)};
    },
};

const Op op_pad = {
    .name = "pad",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(1);
      const Ints &low = args.attrs.ints("low"), &high = args.attrs.ints("high"),
                 &interior = args.attrs.ints("interior");
      auto rank = static_cast<size_t>(args.shape(0).rank());
      bool fits = low.size() == rank && high.size() == rank && interior.size() == rank;
      Ints dims;
      for (size_t d = 0; fits && d < rank; ++d) {
        fits = low[d] >= 0 && high[d] >= 0 && interior[d] >= 0;
        int64_t extent = args.shape(0)[static_cast<int>(d)];
        dims.push_back(low[d] + high[d] + extent + std::max<int64_t>(0, extent - 1) * interior[d]);
      }
      if (!fits)
        args.fail("expects non-negative padding for each dimension of {}", to_string(args.type(0)));
      return {{args.dtype(0), Shape(dims)}};
    },
    .vjp = [](const VjpArgs& a) -> std::vector<Tensor> {
      const Ints &low = a.attrs.ints("low"), &high = a.attrs.ints("high"),
                 &interior = a.attrs.ints("interior");
      Ints limit, strides;
      for (size_t d = 0; d < low.size(); ++d) {
        limit.push_back(a.grads[0].shape().dims()[d] - high[d]);
        strides.push_back(interior[d] + 1);
      }
      return {slice(a.grads[0], low, limit, strides)};
    },
    .eval = [](std::span<const Array> in, const Node& node) -> std::vector<Array> {
      const Ints &low = node.attrs.ints("low"), &interior = node.attrs.ints("interior");
      const Shape& shape = in[0].type.shape;
      Ints strides = shape.strides();
      Array out = Array(node.types[0]);
      for (int64_t i = 0; i < out.size(); ++i) out.set(i, node.attrs.real("value"));
      int64_t from = 0;
      for (IndexIterator it(shape); it.valid(); it.next(), ++from) {
        Ints index = it.index();
        for (size_t d = 0; d < index.size(); ++d) index[d] = low[d] + index[d] * (interior[d] + 1);
        auto to = static_cast<size_t>(offset_of(out.type.shape, index));
        if (out.floating())
          out.reals[to] = in[0].reals[static_cast<size_t>(from)];
        else
          out.wholes[to] = in[0].wholes[static_cast<size_t>(from)];
      }
      return {out};
    },
    .cost = moved_bytes,
    .cases = []() -> std::vector<Case> {
      auto attrs = [](double value, Ints low, Ints high, Ints interior) {
        return Attrs()
            .set("value", value)
            .set("low", low)
            .set("high", high)
            .set("interior", interior);
      };
      return {case_of("edges", {3, 5}, attrs(0.5, {1, 0}, {2, 3}, {0, 0})),
              case_of("interior", {4}, attrs(0, {0}, {1}, {2}), DType::kBF16)};
    },
};

const Op op_concatenate = {
    .name = "concatenate",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      if (args.inputs.empty()) args.fail("expects at least one input");
      auto axis = static_cast<size_t>(args.attrs.integer("axis"));
      Ints dims = args.shape(0).dims();
      if (axis >= dims.size()) args.fail("axis {} is outside {}", axis, to_string(args.type(0)));
      for (size_t i = 1; i < args.inputs.size(); ++i) {
        Ints other = args.shape(i).dims();
        bool fits = other.size() == dims.size() && args.dtype(i) == args.dtype(0);
        for (size_t d = 0; fits && d < dims.size(); ++d) fits = d == axis || other[d] == dims[d];
        if (!fits)
          args.fail("{} and {} differ outside axis {}", to_string(args.type(0)),
                    to_string(args.type(i)), axis);
        dims[axis] += other[axis];
      }
      return {{args.dtype(0), Shape(dims)}};
    },
    .vjp = [](const VjpArgs& a) -> std::vector<Tensor> {
      std::vector<Tensor> grads;
      auto axis = static_cast<int>(a.attrs.integer("axis"));
      int64_t at = 0;
      for (const Tensor& input : a.inputs) {
        grads.push_back(slice_axis(a.grads[0], axis, at, at + input.dim(axis)));
        at += input.dim(axis);
      }
      return grads;
    },
    .eval = [](std::span<const Array> in, const Node& node) -> std::vector<Array> {
      auto axis = static_cast<size_t>(node.attrs.integer("axis"));
      Array out(node.types[0]);
      int64_t start = 0;
      for (const Array& part : in) {
        size_t from = 0;
        for (IndexIterator it(part.type.shape); it.valid(); it.next(), ++from) {
          Ints index = it.index();
          index[axis] += start;
          auto to = static_cast<size_t>(offset_of(out.type.shape, index));
          if (out.floating())
            out.reals[to] = part.reals[from];
          else
            out.wholes[to] = part.wholes[from];
        }
        start += part.type.shape.dims()[axis];
      }
      return {out};
    },
    .cost = moved_bytes,
    .cases = []() -> std::vector<Case> {
      std::vector<Case> list;
      for (DType d : {DType::kF32, DType::kBF16}) {
        list.push_back({fmt::format("tokens_{}", name_of(d)),
                        {{{d, {2, 1, 5}}}, {{d, {2, 4, 5}}}},
                        Attrs().set("axis", 1),
                        0});
        list.push_back({fmt::format("three_{}", name_of(d)),
                        {{{d, {2, 3}}}, {{d, {2, 1}}}, {{d, {2, 7}}}},
                        Attrs().set("axis", 1),
                        0});
      }
      return list;
    },
};

Tensor reshape(const Tensor& x, std::vector<int64_t> shape, const Loc& loc) {
  auto unknown = std::find(shape.begin(), shape.end(), -1);
  if (unknown != shape.end()) {
    int64_t known = 1;
    for (int64_t d : shape) known *= d == -1 ? 1 : d;
    if (known > 0) *unknown = x.shape().elements() / known;
  }
  if (x.shape().dims() == shape) return x;
  return record1(op_reshape, {x}, Attrs().set("shape", std::move(shape)), loc);
}

Tensor optimization_barrier(const Tensor& x, const Tensor& after, const Loc& loc) {
  return record1(op_optimization_barrier, {x, after}, {}, loc);
}

bool renames_memory(const Op& op) {
  return &op == &op_reshape || &op == &op_optimization_barrier;
}

Tensor transpose(const Tensor& x, std::vector<int64_t> permutation, const Loc& loc) {
  if (std::is_sorted(permutation.begin(), permutation.end()) &&
      static_cast<int>(permutation.size()) == x.rank())
    return x;
  return record1(op_transpose, {x}, Attrs().set("permutation", std::move(permutation)), loc);
}

Tensor broadcast_in_dim(const Tensor& x, const Shape& shape, std::vector<int64_t> dims,
                        const Loc& loc) {
  return record1(op_broadcast_in_dim, {x},
                 Attrs().set("shape", shape.dims()).set("dims", std::move(dims)), loc);
}

Tensor broadcast_to(const Tensor& x, const Shape& shape, const Loc& loc) {
  if (x.shape() == shape) return x;
  std::vector<int64_t> dims(static_cast<size_t>(x.rank()));
  std::iota(dims.begin(), dims.end(), shape.rank() - x.rank());
  return broadcast_in_dim(x, shape, dims, loc);
}

Shape broadcast_shapes(const Shape& a, const Shape& b, std::string_view topic, const Loc& loc) {
  std::vector<int64_t> dims(static_cast<size_t>(std::max(a.rank(), b.rank())));
  for (int i = 1; i <= static_cast<int>(dims.size()); ++i) {
    int64_t x = i <= a.rank() ? a[-i] : 1, y = i <= b.rank() ? b[-i] : 1;
    if (x != y && x != 1 && y != 1) {
      throw Error(topic, "{} and {} do not broadcast ({})", to_string(a), to_string(b),
                  to_string(loc));
    }
    dims[dims.size() - static_cast<size_t>(i)] = x == 1 ? y : x;
  }
  return Shape(dims);
}

Tensor slice(const Tensor& x, std::vector<int64_t> start, std::vector<int64_t> limit,
             std::vector<int64_t> strides, const Loc& loc) {
  if (strides.empty()) strides.assign(start.size(), 1);
  return record1(op_slice, {x},
                 Attrs()
                     .set("start", std::move(start))
                     .set("limit", std::move(limit))
                     .set("strides", std::move(strides)),
                 loc);
}

Tensor slice_axis(const Tensor& x, int axis, int64_t start, int64_t limit, const Loc& loc) {
  std::vector<int64_t> starts(static_cast<size_t>(x.rank()), 0), limits = x.shape().dims();
  auto at = static_cast<size_t>(axis < 0 ? axis + x.rank() : axis);
  CENTAVO_CHECK(at < starts.size(), "axis {} of {}", axis, to_string(x.type()));
  starts[at] = start;
  limits[at] = limit;
  return slice(x, starts, limits, {}, loc);
}

Tensor pad(const Tensor& x, double value, std::vector<int64_t> low, std::vector<int64_t> high,
           std::vector<int64_t> interior, const Loc& loc) {
  if (interior.empty()) interior.assign(low.size(), 0);
  return record1(op_pad, {x},
                 Attrs()
                     .set("value", value)
                     .set("low", std::move(low))
                     .set("high", std::move(high))
                     .set("interior", std::move(interior)),
                 loc);
}

Tensor reverse(const Tensor& x, std::vector<int64_t> dims, const Loc& loc) {
  return record1(op_reverse, {x}, Attrs().set("dims", std::move(dims)), loc);
}

Tensor concatenate(const std::vector<Tensor>& parts, int axis, const Loc& loc) {
  if (!parts.empty() && axis < 0) axis += parts[0].rank();
  return record1(op_concatenate, parts, Attrs().set("axis", axis), loc);
}

}  // namespace centavo
