// The table of importers, and those of ops that only rearrange or are element by element.
#include <algorithm>

#include "centavo/ops/ops.h"
#include "centavo/ops/registry.h"
#include "centavo/stablehlo/dense.h"
#include "centavo/stablehlo/importer.h"
#include "centavo/stablehlo/region.h"
#include "centavo/stablehlo/window_importers.h"

namespace centavo::stablehlo {
namespace {

Tensors import_elementwise(const OpReader& r) {
  return record(*find_op(r.op.name.substr(r.op.name.find('.') + 1)), r.operands);
}

Tensors import_constant(const OpReader& r) {
  const Attribute& value = r.attribute("value");
  const auto* dense = std::get_if<DenseText>(&value.value);
  if (!dense) r.fail("'value' must be dense<...>");
  return {constant(decode(r.importer.source(), *dense))};
}

Tensors import_convert(const OpReader& r) {
  return {convert(r.operand(0), r.result_type().dtype)};
}

Tensors import_iota(const OpReader& r) {
  const int64_t axis = r.integer("iota_dimension");
  if (axis < 0 || axis >= r.result_type().shape.rank()) r.fail("there is no dimension {}", axis);
  return {iota(r.result_type(), static_cast<int>(axis))};
}

Tensors import_reshape(const OpReader& r) {
  return record(op_reshape, r.operands, Attrs().set("shape", r.result_type().shape.dims()));
}

Tensors import_transpose(const OpReader& r) {
  return record(op_transpose, r.operands, Attrs().set("permutation", r.ints("permutation")));
}

Tensors import_reverse(const OpReader& r) {
  return record(op_reverse, r.operands, Attrs().set("dims", r.ints("dimensions")));
}

// Dimensions may come in any order; ours are sorted.
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

Tensors import_compare(const OpReader& r) {
  const std::string_view direction = r.keyword("comparison_direction");
  if (r.has("compare_type") && r.keyword("compare_type") == "TOTALORDER")
    r.unsupported("TOTALORDER");
  constexpr std::string_view kDirections[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
  if (std::find(std::begin(kDirections), std::end(kDirections), direction) == std::end(kDirections))
    r.fail("there is no comparison '{}'", direction);
  return record(op_compare, r.operands, Attrs().set("direction", std::string(direction)));
}

Tensors import_select(const OpReader& r) {
  r.expect_operands(3);
  Tensor condition = r.operand(0);
  if (condition.rank() == 0) condition = broadcast_to(condition, r.operand(1).shape());
  return record(op_select, {condition, r.operand(1), r.operand(2)});
}

// Of two values ours returns the first: n results are n barriers, each behind its neighbour.
Tensors import_barrier(const OpReader& r) {
  Tensors results;
  for (size_t i = 0; i < r.operands.size(); ++i) {
    results.push_back(optimization_barrier(r.operand(i), r.operand((i + 1) % r.operands.size())));
  }
  return results;
}

Tensors import_dot_general(const OpReader& r) {
  const Dictionary& d = r.dictionary("dot_dimension_numbers");
  for (const char* side : {"lhs", "rhs"}) {
    Ints dims = r.ints_of(d, fmt::format("{}_batching_dimensions", side));
    const Ints contracting = r.ints_of(d, fmt::format("{}_contracting_dimensions", side));
    dims.insert(dims.end(), contracting.begin(), contracting.end());
    std::sort(dims.begin(), dims.end());
    if (std::adjacent_find(dims.begin(), dims.end()) != dims.end())
      r.fail("the {} uses a dimension twice", side);
  }
  const Attrs attrs = Attrs()
                          .set("lhs_batch", r.ints_of(d, "lhs_batching_dimensions"))
                          .set("rhs_batch", r.ints_of(d, "rhs_batching_dimensions"))
                          .set("lhs_contract", r.ints_of(d, "lhs_contracting_dimensions"))
                          .set("rhs_contract", r.ints_of(d, "rhs_contracting_dimensions"))
                          .set("dtype", r.result_type().dtype);
  return record(op_dot_general, r.operands, attrs);
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

OpImporter find_importer(std::string_view name) {
  static const std::unordered_map<std::string_view, OpImporter> kImporters = {
      {"all_reduce", import_all_reduce},
      {"broadcast_in_dim", import_broadcast_in_dim},
      {"compare", import_compare},
      {"concatenate", import_concatenate},
      {"constant", import_constant},
      {"convert", import_convert},
      {"convolution", import_convolution},
      {"dot_general", import_dot_general},
      {"iota", import_iota},
      {"optimization_barrier", import_barrier},
      {"pad", import_pad},
      {"reduce", import_reduce},
      {"reduce_window", import_reduce_window},
      {"reshape", import_reshape},
      {"reverse", import_reverse},
      {"select", import_select},
      {"select_and_scatter", import_select_and_scatter},
      {"slice", import_slice},
      {"transpose", import_transpose},
  };
  if (auto at = kImporters.find(name); at != kImporters.end()) return at->second;
  const Op* op = find_op(name);
  return op && op->elementwise && op->eval && op != &op_erf ? import_elementwise : nullptr;
}

}  // namespace centavo::stablehlo
