// reduce_window (max or add) over channels-last images, select_and_scatter for the gradient of max,
// and the pools built on them.
#include <limits>

#include "centavo/ops/conv.h"
#include "centavo/ops/elementwise.h"
#include "centavo/ops/movement.h"
#include "centavo/ops/registry.h"

namespace centavo {
namespace {

using Ints = std::vector<int64_t>;

struct Window {
  Ints extent, strides, low, high;
};

Window window_of(const Attrs& attrs) {
  return {attrs.ints("window"), attrs.ints("strides"), attrs.ints("padding_low"),
          attrs.ints("padding_high")};
}

Attrs attrs_of(const PoolOptions& o, const char* kind) {
  auto ints = [](const std::array<int64_t, 2>& p) { return Ints{p[0], p[1]}; };
  return Attrs()
      .set("window", ints(o.window))
      .set("strides", ints(o.strides))
      .set("padding_low", ints(o.padding_low))
      .set("padding_high", ints(o.padding_high))
      .set("kind", kind);
}

Shape pooled_shape(const InferArgs& args, const Shape& x, const Window& w) {
  if (x.rank() != 4) args.fail("expects x[N, H, W, C], got {}", to_string(x));
  Ints dims = x.dims();
  for (size_t d : {0, 1}) {
    int64_t room = dims[d + 1] + w.low[d] + w.high[d] - w.extent[d];
    if (w.extent[d] < 1 || w.strides[d] < 1 || room < 0)
      args.fail("a window of {} by {} does not fit {}", w.extent[0], w.extent[1], to_string(x));
    if (w.low[d] < 0 || w.high[d] < 0 || w.low[d] >= w.extent[d] || w.high[d] >= w.extent[d])
      args.fail("padding must be non-negative and less than the window");
    dims[d + 1] = room / w.strides[d] + 1;
  }
  return Shape(dims);
}

// Calls f(output position, input position) for every element of every window, windows in row-major
// order.
template <class F>
void for_windows(const Shape& x, const Shape& y, const Window& w, F f) {
  for (IndexIterator it(y); it.valid(); it.next()) {
    const Ints& at = it.index();
    int64_t out = offset_of(y, at);
    for (int64_t i = 0; i < w.extent[0]; ++i) {
      for (int64_t j = 0; j < w.extent[1]; ++j) {
        int64_t row = at[1] * w.strides[0] + i - w.low[0],
                col = at[2] * w.strides[1] + j - w.low[1];
        if (row < 0 || row >= x[1] || col < 0 || col >= x[2]) continue;
        f(static_cast<size_t>(out), static_cast<size_t>(offset_of(x, {at[0], row, col, at[3]})));
      }
    }
  }
}

std::vector<Array> eval(std::span<const Array> in, const Node& node) {
  Array out(node.types[0]);
  bool is_max = node.attrs.text("kind") == "max";
  if (is_max) out.reals.assign(out.reals.size(), -std::numeric_limits<double>::infinity());
  for_windows(in[0].type.shape, out.type.shape, window_of(node.attrs), [&](size_t to, size_t from) {
    double x = in[0].reals[from];
    if (!is_max)
      out.reals[to] += x;
    else if (x > out.reals[to] || x != x)
      out.reals[to] = x;
  });
  return {out};
}

// (x, dy) -> dx: each window's gradient goes to its first largest element.
std::vector<Array> eval_scatter(std::span<const Array> in, const Node& node) {
  Array out(node.types[0]);
  const Shape& y = in[1].type.shape;
  std::vector<int64_t> best(static_cast<size_t>(y.elements()), -1);
  for_windows(in[0].type.shape, y, window_of(node.attrs), [&](size_t to, size_t from) {
    if (best[to] < 0 || in[0].reals[from] > in[0].reals[static_cast<size_t>(best[to])])
      best[to] = static_cast<int64_t>(from);
  });
  for (size_t i = 0; i < best.size(); ++i) {
    if (best[i] >= 0) out.reals[static_cast<size_t>(best[i])] += in[1].reals[i];
  }
  return {out};
}

std::vector<Tensor> vjp(const VjpArgs& a) {
  if (a.attrs.text("kind") == "max")
    return {record1(op_select_and_scatter, {a.inputs[0], a.grads[0]}, a.attrs)};
  // The gradient of a sum: dy spread out with zeros between, summed over the turned window.
  Window w = window_of(a.attrs);
  const Shape &x = a.inputs[0].shape(), &y = a.grads[0].shape();
  PoolOptions back;
  Ints low(4, 0), high(4, 0), interior(4, 0);
  for (size_t d : {0, 1}) {
    int64_t spread = (y.dims()[d + 1] - 1) * w.strides[d] + 1;
    back.window[d] = w.extent[d];
    low[d + 1] = w.extent[d] - 1;
    high[d + 1] = x.dims()[d + 1] + w.low[d] - spread;
    interior[d + 1] = w.strides[d] - 1;
  }
  Tensor summed =
      record1(op_reduce_window, {pad(a.grads[0], 0, low, high, interior)}, attrs_of(back, "add"));
  // The first padding_low rows and columns belong to the padding.
  return {
      slice(summed, {0, w.low[0], w.low[1], 0}, {x[0], w.low[0] + x[1], w.low[1] + x[2], x[3]})};
}

std::vector<PoolOptions> window_cases() {
  return {{{2, 2}, {2, 2}},
          {{3, 3}, {2, 2}, {1, 1}, {1, 1}},
          {{3, 2}, {1, 1}, {1, 0}, {0, 1}},
          {{1, 1}, {2, 2}}};
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const char* kind : {"max", "add"}) {
    for (DType d : {DType::kF32, DType::kBF16}) {
      int i = 0;
      for (const PoolOptions& o : window_cases()) {
        list.push_back({fmt::format("{}_{}_{}", kind, name_of(d), i++),
                        {{{d, {2, 9, 8, 21}}, -2, 2}},
                        attrs_of(o, kind),
                        1e-5});
      }
    }
  }
  return list;
}

}  // namespace

const Op op_reduce_window = {
    .name = "reduce_window",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(1);
      if (!is_floating(args.dtype(0)))
        args.fail("expects a floating dtype, got {}", to_string(args.type(0)));
      return {{args.dtype(0), pooled_shape(args, args.shape(0), window_of(args.attrs))}};
    },
    .vjp = vjp,
    .eval = eval,
    .cases = cases,
};

const Op op_select_and_scatter = {
    .name = "select_and_scatter",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(2);
      if (args.shape(1) != pooled_shape(args, args.shape(0), window_of(args.attrs)) ||
          args.dtype(0) != args.dtype(1)) {
        args.fail("gradient {} does not belong to {}", to_string(args.type(1)),
                  to_string(args.type(0)));
      }
      return {args.type(0)};
    },
    .eval = eval_scatter,
    .cases = []() -> std::vector<Case> {
      std::vector<Case> list;
      int i = 0;
      for (const PoolOptions& o : window_cases()) {
        Shape x{2, 9, 8, 21}, y = x;
        Ints dims = x.dims();
        for (size_t d : {0, 1})
          dims[d + 1] =
              (dims[d + 1] + o.padding_low[d] + o.padding_high[d] - o.window[d]) / o.strides[d] + 1;
        for (DType t : {DType::kF32, DType::kBF16}) {
          list.push_back({fmt::format("{}_{}", name_of(t), i),
                          {{{t, x}, -2, 2}, {{t, Shape(dims)}}},
                          attrs_of(o, "max"),
                          1e-5,
                          false});
        }
        ++i;
      }
      return list;
    },
};

Tensor max_pool2d(const Tensor& x, const PoolOptions& options, const Loc& loc) {
  return record1(op_reduce_window, {x}, attrs_of(options, "max"), loc);
}
Tensor avg_pool2d(const Tensor& x, const PoolOptions& options, const Loc& loc) {
  Tensor sums = record1(op_reduce_window, {x}, attrs_of(options, "add"), loc);
  return sums * (1.0 / static_cast<double>(options.window[0] * options.window[1]));
}

}  // namespace centavo
