// Reductions, over dimensions and over windows. A sum, a maximum or a minimum is one primitive; any
// other combination runs over pairs of neighbours, all at once, until one element is left.
#include <algorithm>

#include "centavo/ops/ops.h"
#include "centavo/ops/registry.h"
#include "centavo/stablehlo/importers.h"
#include "centavo/stablehlo/region.h"

namespace centavo::stablehlo {
namespace {

constexpr int64_t kMostWindow = 4096;

// Several values of one shape that are combined together, and their start.
struct Reduction {
  Tensors values, init;
};

Reduction reduction_of(const OpReader& r) {
  if (r.operands.empty() || r.operands.size() % 2 != 0) r.fail("expects values and their starts");
  const auto half = r.operands.begin() + static_cast<int64_t>(r.operands.size() / 2);
  Reduction all{{r.operands.begin(), half}, {half, r.operands.end()}};
  for (size_t i = 0; i < all.values.size(); ++i) {
    if (all.values[i].shape() != all.values[0].shape()) r.fail("expects values of one shape");
    if (all.init[i].rank() != 0 || all.init[i].dtype() != all.values[i].dtype())
      r.fail("start {} is {}, not a scalar of its value's type", i, to_string(all.init[i].type()));
  }
  return all;
}

Tensors each(const Tensors& tensors, const std::function<Tensor(const Tensor&)>& f) {
  Tensors results;
  for (const Tensor& t : tensors) results.push_back(f(t));
  return results;
}

// region(a, b), element by element.
Tensors combine(const OpReader& r, Tensors a, const Tensors& b) {
  const size_t count = a.size();
  a.insert(a.end(), b.begin(), b.end());
  Tensors results = r.map_region(0, a);
  if (results.size() != count) r.fail("the region returns {} values", results.size());
  for (size_t i = 0; i < count; ++i) {
    if (results[i].type() != a[i].type()) r.fail("the region changes the type of value {}", i);
  }
  return results;
}

Tensors joined(const Tensors& a, const Tensors& b, int dim) {
  Tensors results;
  for (size_t i = 0; i < a.size(); ++i) results.push_back(concatenate({a[i], b[i]}, dim));
  return results;
}

// Extent 1 along `dim`, by pairs of neighbours.
Tensors reduce_along(const OpReader& r, Tensors values, int dim) {
  while (values[0].dim(dim) > 1) {
    const int64_t extent = values[0].dim(dim), even = extent / 2 * 2;
    auto every_other = [&](int64_t start) {
      return each(values, [&](const Tensor& t) { return slice_along(t, dim, start, even, 2); });
    };
    Tensors pairs = combine(r, every_other(0), every_other(1));
    if (even < extent) {
      pairs = joined(
          pairs, each(values, [&](const Tensor& t) { return slice_along(t, dim, even, extent); }),
          dim);
    }
    values = pairs;
  }
  return values;
}

Tensors spread(const Tensors& init, const Shape& shape) {
  return each(init, [&](const Tensor& t) { return broadcast_to(t, shape); });
}

// What `kind` of combiner_of does.
Tensor combined(const std::string& kind, const Tensor& a, const Tensor& b) {
  const Tensor start = broadcast_to(a, b.shape());
  return kind == "add" ? add(start, b) : kind == "max" ? maximum(start, b) : minimum(start, b);
}

// The kind of combination that the reduce primitive has for this dtype; else "".
std::string primitive_kind(const OpReader& r, const Reduction& all) {
  if (all.values.size() != 1 || all.values[0].dtype() == DType::kBool) return "";
  const std::string kind = combiner_of(r, r.region(0));
  return kind == "add" || kind == "max" || kind == "min" ? kind : "";
}

}  // namespace

Tensors import_map(const OpReader& r) {
  r.operand(0);
  return r.map_region(0, r.operands);
}

Tensors import_reduce(const OpReader& r) {
  const Reduction all = reduction_of(r);
  Ints dims = r.ints("dimensions");
  std::sort(dims.begin(), dims.end());
  const Shape& shape = all.values[0].shape();
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0 || dims[i] >= shape.rank() || (i > 0 && dims[i] == dims[i - 1]))
      r.fail("{} are not distinct dimensions of {}", to_string(Shape(dims)), to_string(shape));
  }
  Ints kept;
  bool empty = false;
  for (int d = 0; d < shape.rank(); ++d) {
    const bool reduced = std::binary_search(dims.begin(), dims.end(), d);
    if (!reduced) kept.push_back(shape[d]);
    empty |= reduced && shape[d] == 0;
  }
  if (empty) return spread(all.init, Shape(kept));
  if (const std::string kind = primitive_kind(r, all); !kind.empty() && !dims.empty()) {
    const Tensor reduced =
        record1(op_reduce, all.values, Attrs().set("kind", kind).set("dims", dims));
    if (is_identity(all.init[0], kind)) return {reduced};
    return {combined(kind, all.init[0], reduced)};
  }
  Tensors values = all.values;
  for (int64_t d : dims) values = reduce_along(r, values, static_cast<int>(d));
  values = each(values, [&](const Tensor& t) { return reshape(t, kept); });
  return combine(r, spread(all.init, Shape(kept)), values);
}

namespace {

struct Window {
  Ints extent, strides, base_dilation, dilation, low, high;
};

Window window_of(const OpReader& r) {
  const auto rank = static_cast<size_t>(r.operand(0).rank());
  Window w;
  w.extent = r.ints("window_dimensions", rank, 1);
  w.strides = r.ints("window_strides", rank, 1);
  w.base_dilation = r.ints("base_dilations", rank, 1);
  w.dilation = r.ints("window_dilations", rank, 1);
  std::tie(w.low, w.high) = r.padding(rank);
  for (size_t d = 0; d < rank; ++d) {
    if (w.extent[d] < 1 || w.strides[d] < 1 || w.base_dilation[d] < 1 || w.dilation[d] < 1)
      r.fail("window, strides and dilations must be positive");
    if (w.extent[d] > kMostWindow) r.unsupported("a window of {}", w.extent[d]);
  }
  return w;
}

// The two dimensions that a window of images slides along, when the primitive can do it.
std::optional<Ints> image_order(const Window& w, const Tensor& x) {
  if (x.rank() != 4 || !is_floating(x.dtype())) return std::nullopt;
  Ints slid, still;
  for (size_t d = 0; d < 4; ++d) {
    const bool moves = w.extent[d] != 1 || w.strides[d] != 1 || w.low[d] != 0 || w.high[d] != 0;
    if (w.base_dilation[d] != 1 || w.dilation[d] != 1 || w.low[d] < 0 || w.high[d] < 0 ||
        w.low[d] >= w.extent[d] || w.high[d] >= w.extent[d] ||
        x.dim(static_cast<int>(d)) + w.low[d] + w.high[d] < w.extent[d])
      return std::nullopt;
    (moves ? slid : still).push_back(static_cast<int64_t>(d));
  }
  if (slid.size() > 2) return std::nullopt;
  // Windows that stay still may as well slide; of [N, H, W, C] the middle ones.
  for (int64_t d : {1, 2, 3}) {
    const auto at = std::find(still.begin(), still.end(), d);
    if (slid.size() == 2 || at == still.end()) continue;
    slid.push_back(d);
    still.erase(at);
  }
  std::sort(slid.begin(), slid.end());
  return Ints{still[0], slid[0], slid[1], still[1]};
}

Ints inverse(const Ints& order) {
  Ints result(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    result[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return result;
}

Attrs image_window(const Window& w, const Ints& order, const std::string& kind) {
  auto middle = [&](const Ints& values) {
    return Ints{values[static_cast<size_t>(order[1])], values[static_cast<size_t>(order[2])]};
  };
  return Attrs()
      .set("window", middle(w.extent))
      .set("strides", middle(w.strides))
      .set("padding_low", middle(w.low))
      .set("padding_high", middle(w.high))
      .set("kind", kind);
}

// All windows of `extent` elements, `dilation` apart, along `dim` at every start: combinations of
// 1, 2, 4, ... neighbours, put together as the extent's binary digits say.
Tensors slide(const OpReader& r, const Tensors& values, int dim, int64_t extent, int64_t dilation) {
  const int64_t starts = values[0].dim(dim) - (extent - 1) * dilation;
  auto from = [&](const Tensors& v, int64_t offset, int64_t count) {
    return each(v, [&](const Tensor& t) { return slice_along(t, dim, offset, offset + count); });
  };
  Tensors result, power = values;
  int64_t done = 0;
  for (int64_t size = 1;; size *= 2) {
    if (extent & size) {
      const Tensors part = from(power, done * dilation, starts);
      result = result.empty() ? part : combine(r, result, part);
      done += size;
    }
    if (done == extent) return result;
    const int64_t count = power[0].dim(dim) - size * dilation;
    power = combine(r, from(power, 0, count), from(power, size * dilation, count));
  }
}

}  // namespace

Tensors import_reduce_window(const OpReader& r) {
  const Reduction all = reduction_of(r);
  const Window w = window_of(r);
  const std::string kind = primitive_kind(r, all);
  const std::optional<Ints> order = image_order(w, all.values[0]);
  if (order && (kind == "add" || kind == "max") && is_identity(all.init[0], kind)) {
    const Tensor image = transpose(all.values[0], *order);
    return {transpose(record1(op_reduce_window, {image}, image_window(w, *order, kind)),
                      inverse(*order))};
  }
  Ints interior = w.base_dilation;
  for (int64_t& i : interior) --i;
  Tensors values;
  for (size_t i = 0; i < all.values.size(); ++i)
    values.push_back(pad_by(all.values[i], all.init[i], w.low, w.high, interior));
  // The last dimension first, so that elements meet in order.
  for (int d = values[0].rank() - 1; d >= 0; --d) {
    const auto at = static_cast<size_t>(d);
    const int64_t starts = values[0].dim(d) - (w.extent[at] - 1) * w.dilation[at];
    if (starts <= 0) return spread(all.init, r.result_type().shape);
    values = slide(r, values, d, w.extent[at], w.dilation[at]);
    values =
        each(values, [&](const Tensor& t) { return slice_along(t, d, 0, starts, w.strides[at]); });
  }
  return combine(r, spread(all.init, values[0].shape()), values);
}

Tensors import_select_and_scatter(const OpReader& r) {
  r.expect_operands(3);
  const Window w = window_of(r);
  const std::optional<Ints> order = image_order(w, r.operand(0));
  if (!order || combiner_of(r, r.region(0)) != "GE" || combiner_of(r, r.region(1)) != "add" ||
      !is_identity(r.operand(2), "add"))
    r.unsupported("anything but the sum, from 0, at the largest element of windows over images");
  const Tensor dx = record1(op_select_and_scatter,
                            {transpose(r.operand(0), *order), transpose(r.operand(1), *order)},
                            image_window(w, *order, "max"));
  return {transpose(dx, inverse(*order))};
}

}  // namespace centavo::stablehlo
