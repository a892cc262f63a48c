// Padding, reductions, convolutions and pools. Centavo's windows slide over [N, H, W, C] only: what
// has another layout is transposed.
#include "centavo/stablehlo/window_importers.h"

#include <algorithm>

#include "centavo/ops/ops.h"
#include "centavo/ops/registry.h"
#include "centavo/stablehlo/region.h"

namespace centavo::stablehlo {
namespace {

// The value of a scalar constant that a double holds; nothing for other tensors.
std::optional<double> scalar_value(const Tensor& x) {
  if (x.node()->op != &op_constant || x.shape().elements() != 1) return std::nullopt;
  const double value = x.node()->attrs.literal("value").value(0);
  constexpr double kExact = 9007199254740992;  // 2^53
  if (!is_floating(x.dtype()) && std::abs(value) > kExact) return std::nullopt;
  return value;
}

Tensor pad_by(const Tensor& x, const Tensor& value, const Ints& low, const Ints& high,
              const Ints& interior) {
  if (const std::optional<double> constant = scalar_value(value))
    return pad(x, *constant, low, high, interior);
  const Tensor inside = pad(full(x.shape(), 1, DType::kBool), 0, low, high, interior);
  return select(inside, pad(x, 0, low, high, interior), broadcast_to(value, inside.shape()));
}

// Permutation of an operand whose dimensions are given by what they are for.
Ints permutation(const OpReader& r, int64_t first, const Ints& middle, int64_t last) {
  Ints order = {first};
  order.insert(order.end(), middle.begin(), middle.end());
  order.push_back(last);
  Ints sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t d = 0; d < sorted.size(); ++d) {
    if (sorted[d] != static_cast<int64_t>(d)) r.fail("dimension_numbers are no permutation");
  }
  return order;
}

Ints inverse(const Ints& order) {
  Ints result(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    result[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return result;
}

}  // namespace

// Negative amounts at the edges cut off.
Tensors import_pad(const OpReader& r) {
  r.expect_operands(2);
  const auto rank = static_cast<size_t>(r.operand(0).rank());
  if (r.operand(1).rank() != 0 || r.operand(1).dtype() != r.operand(0).dtype())
    r.fail("expects a scalar of the operand's element type to pad with");
  const Ints low = r.ints("edge_padding_low", rank, 0), high = r.ints("edge_padding_high", rank, 0);
  const Ints interior = r.ints("interior_padding", rank, 0);
  Ints more_low(rank), more_high(rank), start(rank), limit(rank);
  for (size_t d = 0; d < rank; ++d) {
    more_low[d] = std::max<int64_t>(low[d], 0);
    more_high[d] = std::max<int64_t>(high[d], 0);
  }
  const Tensor padded = pad_by(r.operand(0), r.operand(1), more_low, more_high, interior);
  for (size_t d = 0; d < rank; ++d) {
    start[d] = more_low[d] - low[d];
    limit[d] = padded.shape().dims()[d] - (more_high[d] - high[d]);
  }
  if (more_low == low && more_high == high) return {padded};
  return {slice(padded, start, limit)};
}

Tensors import_reduce(const OpReader& r) {
  r.expect_operands(2);
  const std::string kind = combiner_of(r, r.region(0));
  if (kind != "add" && kind != "max" && kind != "min")
    r.unsupported("a combination other than add, maximum and minimum");
  Ints dims = r.ints("dimensions");
  std::sort(dims.begin(), dims.end());
  const Tensor reduced =
      record1(op_reduce, {r.operand(0)}, Attrs().set("kind", kind).set("dims", dims));
  if (is_identity(r.operand(1), kind)) return {reduced};
  const Op& combine = kind == "add" ? op_add : kind == "max" ? op_maximum : op_minimum;
  return record(combine, {broadcast_to(r.operand(1), reduced.shape()), reduced});
}

Tensors import_convolution(const OpReader& r) {
  r.expect_operands(2);
  const Dictionary& d = r.dictionary("dimension_numbers");
  auto order = [&](const char* first, const char* middle, const char* last) {
    return permutation(r, r.integer_of(d, first), r.ints_of(d, middle), r.integer_of(d, last));
  };
  const Ints input =
      order("input_batch_dimension", "input_spatial_dimensions", "input_feature_dimension");
  Ints kernel = order("kernel_output_feature_dimension", "kernel_spatial_dimensions",
                      "kernel_input_feature_dimension");
  const Ints output =
      order("output_batch_dimension", "output_spatial_dimensions", "output_feature_dimension");
  std::rotate(kernel.begin() + 1, kernel.end() - 1, kernel.end());  // [O, I, spatial...]
  const size_t spatial = input.size() - 2;
  if (spatial != 2) r.unsupported("{} spatial dimensions", spatial);
  if (r.integer("batch_group_count", 1) != 1) r.unsupported("batch groups");
  const auto [low, high] = r.padding(spatial);
  Tensor weight = transpose(r.operand(1), kernel);
  const Ints reversed = r.ints("window_reversal", spatial, 0);
  Ints flipped;
  for (size_t i = 0; i < spatial; ++i) {
    if (reversed[i]) flipped.push_back(static_cast<int64_t>(i) + 2);
  }
  if (!flipped.empty()) weight = reverse(weight, flipped);
  const Attrs attrs = Attrs()
                          .set("strides", r.ints("window_strides", spatial, 1))
                          .set("padding_low", low)
                          .set("padding_high", high)
                          .set("input_dilation", r.ints("lhs_dilation", spatial, 1))
                          .set("dilation", r.ints("rhs_dilation", spatial, 1))
                          .set("groups", r.integer("feature_group_count", 1));
  const Tensor y = record1(op_convolution, {transpose(r.operand(0), input), weight}, attrs);
  return {convert(transpose(y, inverse(output)), r.result_type().dtype)};
}

namespace {

// A window over [N, H, W, C] as attributes of reduce_window and select_and_scatter.
Attrs image_window(const OpReader& r, const std::string& kind) {
  if (r.operand(0).rank() != 4) r.unsupported("windows over {}", to_string(r.operand(0).type()));
  const Ints window = r.ints("window_dimensions", 4, 1), strides = r.ints("window_strides", 4, 1);
  const auto [low, high] = r.padding(4);
  for (size_t d : {0, 3}) {
    if (window[d] != 1 || strides[d] != 1 || low[d] != 0 || high[d] != 0)
      r.unsupported("windows along dimension {}", d);
  }
  for (const char* dilations : {"base_dilations", "window_dilations"}) {
    if (r.ints(dilations, 4, 1) != Ints(4, 1)) r.unsupported("'{}'", dilations);
  }
  auto middle = [](const Ints& values) { return Ints{values[1], values[2]}; };
  return Attrs()
      .set("window", middle(window))
      .set("strides", middle(strides))
      .set("padding_low", middle(low))
      .set("padding_high", middle(high))
      .set("kind", kind);
}

}  // namespace

Tensors import_reduce_window(const OpReader& r) {
  r.expect_operands(2);
  const std::string kind = combiner_of(r, r.region(0));
  if ((kind != "add" && kind != "max") || !is_identity(r.operand(1), kind))
    r.unsupported("a combination other than add from 0 or maximum from the lowest number");
  return record(op_reduce_window, {r.operand(0)}, image_window(r, kind));
}

Tensors import_select_and_scatter(const OpReader& r) {
  r.expect_operands(3);
  if (combiner_of(r, r.region(0)) != "GE" || combiner_of(r, r.region(1)) != "add" ||
      !is_identity(r.operand(2), "add"))
    r.unsupported("anything but the sum, from 0, at each window's largest element");
  return record(op_select_and_scatter, {r.operand(0), r.operand(1)}, image_window(r, "max"));
}

}  // namespace centavo::stablehlo
