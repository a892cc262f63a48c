// The table of importers, and those of ops that make or move elements.
#include <algorithm>

#include "centavo/ops/ops.h"
#include "centavo/ops/registry.h"
#include "centavo/stablehlo/dense.h"
#include "centavo/stablehlo/fold.h"
#include "centavo/stablehlo/importers.h"
#include "centavo/stablehlo/region.h"

namespace centavo::stablehlo {

Tensor slice_along(const Tensor& x, int dim, int64_t start, int64_t limit, int64_t stride) {
  Ints starts(static_cast<size_t>(x.rank()), 0), limits = x.shape().dims(),
                                                 strides(static_cast<size_t>(x.rank()), 1);
  const auto at = static_cast<size_t>(dim);
  if (start == 0 && limit == limits[at] && stride == 1) return x;
  starts[at] = start;
  limits[at] = limit;
  strides[at] = stride;
  return slice(x, starts, limits, strides);
}

namespace {

// No negative amounts.
Tensor widen(const Tensor& x, const Tensor& value, const Ints& low, const Ints& high,
             const Ints& interior) {
  constexpr double kExact = 9007199254740992;  // 2^53: pad's value is a double
  const std::optional<double> constant = scalar_value(value);
  if (constant && !(std::abs(*constant) > kExact && !is_floating(x.dtype())))
    return pad(x, *constant, low, high, interior);
  const Tensor inside = pad(full(x.shape(), 1, DType::kBool), 0, low, high, interior);
  return select(inside, pad(x, 0, low, high, interior), broadcast_to(value, inside.shape()));
}

}  // namespace

Tensor pad_by(const Tensor& x, const Tensor& value, const Ints& low, const Ints& high,
              const Ints& interior) {
  const size_t rank = low.size();
  Ints more_low(rank), more_high(rank), start(rank), limit(rank);
  bool same = true, cut = false;
  for (size_t d = 0; d < rank; ++d) {
    more_low[d] = std::max<int64_t>(low[d], 0);
    more_high[d] = std::max<int64_t>(high[d], 0);
    same &= low[d] == 0 && high[d] == 0 && interior[d] == 0;
    cut |= low[d] < 0 || high[d] < 0;
  }
  if (same) return x;
  const Tensor padded = widen(x, value, more_low, more_high, interior);
  if (!cut) return padded;
  for (size_t d = 0; d < rank; ++d) {
    start[d] = more_low[d] - low[d];
    limit[d] = padded.shape().dims()[d] - (more_high[d] - high[d]);
  }
  return slice(padded, start, limit);
}

namespace {

Tensors import_constant(const OpReader& r) {
  const auto* dense = std::get_if<DenseText>(&r.attribute("value").value);
  if (!dense) r.fail("'value' must be dense<...>");
  return {constant(decode(r.importer.source(), *dense))};
}

Tensors import_iota(const OpReader& r) {
  const int64_t axis = r.integer("iota_dimension");
  if (axis < 0 || axis >= r.result_type().shape.rank()) r.fail("there is no dimension {}", axis);
  if (r.result_type().dtype == DType::kBool) r.fail("cannot count in i1");
  return {iota(r.result_type(), static_cast<int>(axis))};
}

Tensors import_reshape(const OpReader& r) {
  return record(op_reshape, r.operands, Attrs().set("shape", r.result_type().shape.dims()));
}

Tensors import_transpose(const OpReader& r) {
  return record(op_transpose, r.operands, Attrs().set("permutation", r.ints("permutation")));
}

Tensors import_reverse(const OpReader& r) {
  const Ints dims = r.ints("dimensions");
  Ints sorted = dims;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    r.fail("reverses a dimension twice");
  return record(op_reverse, r.operands, Attrs().set("dims", dims));
}

// Dimensions may come in any order; the primitive's are sorted.
Tensors import_broadcast_in_dim(const OpReader& r) {
  r.expect_operands(1);
  Ints dims = r.ints("broadcast_dimensions");
  Ints order(dims.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return dims[static_cast<size_t>(a)] < dims[static_cast<size_t>(b)];
  });
  std::sort(dims.begin(), dims.end());
  const Attrs attrs = Attrs().set("shape", r.result_type().shape.dims()).set("dims", dims);
  return record(op_broadcast_in_dim, {transpose(r.operand(0), order)}, attrs);
}

// New dimensions in front.
Tensors import_broadcast(const OpReader& r) {
  r.expect_operands(1);
  Ints shape = r.ints("broadcast_sizes");
  const Ints& dims = r.operand(0).shape().dims();
  shape.insert(shape.end(), dims.begin(), dims.end());
  return {broadcast_to(r.operand(0), Shape(shape))};
}

Tensors import_slice(const OpReader& r) {
  const Attrs attrs = Attrs()
                          .set("start", r.ints("start_indices"))
                          .set("limit", r.ints("limit_indices"))
                          .set("strides", r.ints("strides"));
  return record(op_slice, r.operands, attrs);
}

Tensors import_concatenate(const OpReader& r) {
  return record(op_concatenate, r.operands, Attrs().set("axis", r.integer("dimension")));
}

// Where a slice of `size` along each dimension starts, as constants moved inside the operand.
Ints constant_starts(const OpReader& r, size_t first, const Ints& size) {
  const Tensor& x = r.operand(0);
  r.expect_operands(first + static_cast<size_t>(x.rank()));
  Ints starts;
  for (size_t d = 0; d < size.size(); ++d) {
    const std::optional<double> start = scalar_value(r.operand(first + d));
    if (!start) r.unsupported("a start that depends on inputs");
    const int64_t last = x.shape().dims()[d] - size[d];
    if (last < 0) r.fail("a slice larger than {}", to_string(x.type()));
    starts.push_back(static_cast<int64_t>(std::clamp(*start, 0.0, static_cast<double>(last))));
  }
  return starts;
}

Tensors import_dynamic_slice(const OpReader& r) {
  const Ints size = r.ints("slice_sizes", static_cast<size_t>(r.operand(0).rank()), 0);
  const Ints start = constant_starts(r, 1, size);
  Ints limit;
  for (size_t d = 0; d < size.size(); ++d) limit.push_back(start[d] + size[d]);
  return {slice(r.operand(0), start, limit)};
}

// The operand outside the update's place, the update inside.
Tensors import_dynamic_update_slice(const OpReader& r) {
  const Tensor &x = r.operand(0), &update = r.operand(1);
  if (update.rank() != x.rank() || update.dtype() != x.dtype())
    r.fail("update {} does not fit {}", to_string(update.type()), to_string(x.type()));
  const Ints low = constant_starts(r, 2, update.shape().dims());
  Ints high;
  for (size_t d = 0; d < low.size(); ++d)
    high.push_back(x.shape().dims()[d] - low[d] - update.shape().dims()[d]);
  const Tensor inside = pad(full(update.shape(), 1, DType::kBool), 0, low, high);
  return {select(inside, pad(update, 0, low, high), x)};
}

Tensors import_get_dimension_size(const OpReader& r) {
  const int64_t d = r.integer("dimension");
  if (d < 0 || d >= r.operand(0).rank()) r.fail("there is no dimension {}", d);
  const auto extent = static_cast<double>(r.operand(0).dim(static_cast<int>(d)));
  return {full({}, extent, DType::kI32)};
}

// Of two values the primitive returns the first: n results are n barriers, each behind its
// neighbour.
Tensors import_barrier(const OpReader& r) {
  Tensors results;
  for (size_t i = 0; i < r.operands.size(); ++i) {
    results.push_back(optimization_barrier(r.operand(i), r.operand((i + 1) % r.operands.size())));
  }
  return results;
}

Tensors import_all_reduce(const OpReader& r) {
  if (combiner_of(r, r.region(0)) != "add") r.unsupported("a combination other than add");
  const auto* dense = std::get_if<DenseText>(&r.attribute("replica_groups").value);
  if (!dense) r.fail("'replica_groups' must be dense<...>");
  Ints group = decode_integers(r.importer.source(), *dense);
  const Shape& shape = dense->type.tensor->shape;
  if (shape.rank() != 2 || shape[0] != 1) r.unsupported("more than one group of replicas");
  std::sort(group.begin(), group.end());
  for (size_t i = 0; i < group.size(); ++i) {
    if (group[i] != static_cast<int64_t>(i)) r.unsupported("a group of some replicas only");
  }
  return all_reduce(r.operands, static_cast<int64_t>(group.size()), 1.0);
}

}  // namespace

Tensors import_pad(const OpReader& r) {
  r.expect_operands(2);
  const auto rank = static_cast<size_t>(r.operand(0).rank());
  if (r.operand(1).rank() != 0 || r.operand(1).dtype() != r.operand(0).dtype())
    r.fail("expects a scalar of the operand's element type to pad with");
  const Ints low = r.ints("edge_padding_low", rank, 0), high = r.ints("edge_padding_high", rank, 0);
  return {pad_by(r.operand(0), r.operand(1), low, high, r.ints("interior_padding", rank, 0))};
}

OpEntry find_importer(std::string_view name) {
  constexpr bool kEach = true;  // element by element
  static const std::unordered_map<std::string_view, OpEntry> kImporters = {
      {"chlo.erf", {import_erf, kEach}},
      {"chlo.tan", {import_tan, kEach}},
      {"func.call", {import_call}},
      {"stablehlo.abs", {import_abs, kEach}},
      {"stablehlo.add", {import_add, kEach}},
      {"stablehlo.all_reduce", {import_all_reduce}},
      {"stablehlo.broadcast", {import_broadcast}},
      {"stablehlo.broadcast_in_dim", {import_broadcast_in_dim}},
      {"stablehlo.case", {import_case}},
      {"stablehlo.cbrt", {import_cbrt, kEach}},
      {"stablehlo.clamp", {import_clamp, kEach}},
      {"stablehlo.compare", {import_compare, kEach}},
      {"stablehlo.composite", {import_composite}},
      {"stablehlo.concatenate", {import_concatenate}},
      {"stablehlo.constant", {import_constant}},
      {"stablehlo.convert", {import_convert, kEach}},
      {"stablehlo.convolution", {import_convolution}},
      {"stablehlo.count_leading_zeros", {import_count_leading_zeros, kEach}},
      {"stablehlo.custom_call", {import_custom_call}},
      {"stablehlo.dot", {import_dot}},
      {"stablehlo.dot_general", {import_dot_general}},
      {"stablehlo.dynamic_slice", {import_dynamic_slice}},
      {"stablehlo.dynamic_update_slice", {import_dynamic_update_slice}},
      {"stablehlo.exponential_minus_one", {import_exponential_minus_one, kEach}},
      {"stablehlo.get_dimension_size", {import_get_dimension_size}},
      {"stablehlo.if", {import_if}},
      {"stablehlo.iota", {import_iota}},
      {"stablehlo.log_plus_one", {import_log_plus_one, kEach}},
      {"stablehlo.map", {import_map}},
      {"stablehlo.maximum", {import_maximum, kEach}},
      {"stablehlo.minimum", {import_minimum, kEach}},
      {"stablehlo.multiply", {import_multiply, kEach}},
      {"stablehlo.negate", {import_negate, kEach}},
      {"stablehlo.optimization_barrier", {import_barrier}},
      {"stablehlo.pad", {import_pad}},
      {"stablehlo.popcnt", {import_popcnt, kEach}},
      {"stablehlo.power", {import_power, kEach}},
      {"stablehlo.reduce", {import_reduce}},
      {"stablehlo.reduce_precision", {import_reduce_precision, kEach}},
      {"stablehlo.reduce_window", {import_reduce_window}},
      {"stablehlo.remainder", {import_remainder, kEach}},
      {"stablehlo.reshape", {import_reshape}},
      {"stablehlo.reverse", {import_reverse}},
      {"stablehlo.round_nearest_afz", {import_round_nearest_afz, kEach}},
      {"stablehlo.round_nearest_even", {import_round_nearest_even, kEach}},
      {"stablehlo.select", {import_select, kEach}},
      {"stablehlo.select_and_scatter", {import_select_and_scatter}},
      {"stablehlo.shift_left", {import_shift_left, kEach}},
      {"stablehlo.shift_right_arithmetic", {import_shift_right_arithmetic, kEach}},
      {"stablehlo.sign", {import_sign, kEach}},
      {"stablehlo.slice", {import_slice}},
      {"stablehlo.tan", {import_tan, kEach}},
      {"stablehlo.transpose", {import_transpose}},
      {"stablehlo.while", {import_while}},
  };
  if (auto at = kImporters.find(name); at != kImporters.end()) return at->second;
  if (name.starts_with("check.")) return {import_check};
  constexpr std::string_view kDialect = "stablehlo.";
  const Op* op = name.starts_with(kDialect) ? find_op(name.substr(kDialect.size())) : nullptr;
  const bool primitive = op && op->elementwise && op->eval && op != &op_erf;
  return primitive ? OpEntry{import_elementwise, kEach} : OpEntry{};
}

}  // namespace centavo::stablehlo
