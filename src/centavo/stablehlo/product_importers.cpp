// Matrix products and convolutions. Centavo's convolve images [N, H, W, C] with kernels [O, I, H,
// W]: other layouts are transposed, missing dimensions added.
#include <algorithm>

#include "centavo/ops/ops.h"
#include "centavo/ops/registry.h"
#include "centavo/stablehlo/importers.h"

namespace centavo::stablehlo {
namespace {

Ints inverse(const Ints& order) {
  Ints result(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    result[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return result;
}

// Dimensions that are in neither list, in order.
Ints free_dimensions(int rank, const Ints& batch, const Ints& contract) {
  Ints dims;
  for (int64_t d = 0; d < rank; ++d) {
    if (std::find(batch.begin(), batch.end(), d) == batch.end() &&
        std::find(contract.begin(), contract.end(), d) == contract.end())
      dims.push_back(d);
  }
  return dims;
}

void check_dimensions(const OpReader& r, const char* side, int rank, const Ints& batch,
                      const Ints& contract) {
  Ints dims = batch;
  dims.insert(dims.end(), contract.begin(), contract.end());
  std::sort(dims.begin(), dims.end());
  if (std::adjacent_find(dims.begin(), dims.end()) != dims.end())
    r.fail("the {} uses a dimension twice", side);
  if (!dims.empty() && (dims.front() < 0 || dims.back() >= rank))
    r.fail("the {} has no dimension {}", side, dims.front() < 0 ? dims.front() : dims.back());
}

// A product that the primitive, made for floating numbers, does not have: every pair of rows
// multiplied and summed.
Tensor sum_of_products(const OpReader& r, const Tensor& lhs, const Tensor& rhs, const DotDims& d) {
  const Ints left = free_dimensions(lhs.rank(), d.lhs_batch, d.lhs_contract);
  const Ints right = free_dimensions(rhs.rank(), d.rhs_batch, d.rhs_contract);
  Ints shape;
  std::vector<int64_t> lhs_place(static_cast<size_t>(lhs.rank())),
      rhs_place(static_cast<size_t>(rhs.rank()));
  auto put = [&](const Tensor& x, Ints& place, int64_t dim) {
    place[static_cast<size_t>(dim)] = static_cast<int64_t>(shape.size());
    shape.push_back(x.dim(static_cast<int>(dim)));
  };
  auto put_both = [&](const Ints& lhs_dims, const Ints& rhs_dims) {
    if (lhs_dims.size() != rhs_dims.size()) r.fail("dimensions do not pair");
    for (size_t i = 0; i < lhs_dims.size(); ++i) {
      if (lhs.dim(static_cast<int>(lhs_dims[i])) != rhs.dim(static_cast<int>(rhs_dims[i])))
        r.fail("paired dimensions differ");
      rhs_place[static_cast<size_t>(rhs_dims[i])] = static_cast<int64_t>(shape.size());
      put(lhs, lhs_place, lhs_dims[i]);
    }
  };
  put_both(d.lhs_batch, d.rhs_batch);
  for (int64_t dim : left) put(lhs, lhs_place, dim);
  for (int64_t dim : right) put(rhs, rhs_place, dim);
  const auto summed = static_cast<int64_t>(shape.size());
  put_both(d.lhs_contract, d.rhs_contract);
  double elements = 1;
  for (int64_t extent : shape) elements *= static_cast<double>(extent);
  if (elements > 1 << 24)
    r.unsupported("a product of {} in {}", to_string(lhs.type()), to_string(rhs.type()));
  auto placed = [&](const Tensor& x, const Ints& place) {
    Ints order(place.size()), dims = place;
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return place[static_cast<size_t>(a)] < place[static_cast<size_t>(b)];
    });
    std::sort(dims.begin(), dims.end());
    return broadcast_in_dim(transpose(x, order), Shape(shape), dims);
  };
  const Tensor products = multiply(placed(lhs, lhs_place), placed(rhs, rhs_place));
  Ints dims;
  for (int64_t i = summed; i < static_cast<int64_t>(shape.size()); ++i) dims.push_back(i);
  return sum(products, dims, false);
}

Tensor product(const OpReader& r, const DotDims& d) {
  r.expect_operands(2);
  Tensor lhs = r.operand(0), rhs = r.operand(1);
  check_dimensions(r, "lhs", lhs.rank(), d.lhs_batch, d.lhs_contract);
  check_dimensions(r, "rhs", rhs.rank(), d.rhs_batch, d.rhs_contract);
  const DType dtype = r.result_type().dtype;
  if (!is_floating(lhs.dtype()) || !is_floating(rhs.dtype())) {
    if (lhs.dtype() == DType::kBool || dtype == DType::kBool) r.unsupported("products of i1");
    return sum_of_products(r, convert(lhs, dtype), convert(rhs, dtype), d);
  }
  if (lhs.dtype() != rhs.dtype()) lhs = convert(lhs, dtype), rhs = convert(rhs, dtype);
  return dot_general(lhs, rhs, d, dtype);
}

}  // namespace

Tensors import_dot_general(const OpReader& r) {
  Dictionary none;
  const Dictionary& d =
      r.has("dot_dimension_numbers") ? r.dictionary("dot_dimension_numbers") : none;
  return {product(
      r, {r.ints_of(d, "lhs_batching_dimensions"), r.ints_of(d, "rhs_batching_dimensions"),
          r.ints_of(d, "lhs_contracting_dimensions"), r.ints_of(d, "rhs_contracting_dimensions")})};
}

// The last dimension of the one with the first of the other.
Tensors import_dot(const OpReader& r) {
  return {product(r, {{}, {}, {r.operand(0).rank() - 1}, {0}})};
}

namespace {

// What a convolution's attributes say of one spatial dimension.
struct Spatial {
  Ints strides, low, high, input_dilation, dilation, reversed;

  explicit Spatial(const OpReader& r, size_t count)
      : strides(r.ints("window_strides", count, 1)),
        input_dilation(r.ints("lhs_dilation", count, 1)),
        dilation(r.ints("rhs_dilation", count, 1)),
        reversed(r.ints("window_reversal", count, 0)) {
    std::tie(low, high) = r.padding(count);
  }
  void add_dimension() {
    for (Ints* values : {&strides, &input_dilation, &dilation}) values->push_back(1);
    for (Ints* values : {&low, &high, &reversed}) values->push_back(0);
  }
};

// Permutation of an operand whose dimensions are given by what they are for.
Ints order_of(const OpReader& r, const Dictionary& d, const char* first, const char* middle,
              const char* last) {
  Ints order = {r.integer_of(d, first)};
  const Ints spatial = r.ints_of(d, middle);
  order.insert(order.end(), spatial.begin(), spatial.end());
  order.push_back(r.integer_of(d, last));
  Ints sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int64_t>(i)) r.fail("dimension_numbers are no permutation");
  }
  return order;
}

// x with dimensions of 1 put in before position `at` until there are `rank`.
Tensor widened(const Tensor& x, int rank, int at) {
  Ints dims = x.shape().dims();
  dims.insert(dims.begin() + at, static_cast<size_t>(rank - x.rank()), 1);
  return reshape(x, dims);
}

// Of one group of the batch: x[N, H, W, I] and weight[O, I, H, W].
Tensor convolve(const Tensor& x, const Tensor& weight, const Spatial& s, int64_t groups) {
  return record1(op_convolution, {x, weight},
                 Attrs()
                     .set("strides", s.strides)
                     .set("padding_low", s.low)
                     .set("padding_high", s.high)
                     .set("input_dilation", s.input_dilation)
                     .set("dilation", s.dilation)
                     .set("groups", groups));
}

// Group g of the batch meets group g of the kernel's outputs.
Tensor convolve_batch_groups(const OpReader& r, const Tensor& x, const Tensor& weight,
                             const Spatial& s, int64_t groups) {
  if (x.dim(0) % groups != 0 || weight.dim(0) % groups != 0)
    r.fail("{} and {} have no {} groups", to_string(x.type()), to_string(weight.type()), groups);
  const int64_t batch = x.dim(0) / groups, outputs = weight.dim(0) / groups;
  Tensors parts;
  for (int64_t g = 0; g < groups; ++g) {
    parts.push_back(convolve(slice_along(x, 0, g * batch, (g + 1) * batch),
                             slice_along(weight, 0, g * outputs, (g + 1) * outputs), s, 1));
  }
  return concatenate(parts, 3);
}

}  // namespace

Tensors import_convolution(const OpReader& r) {
  r.expect_operands(2);
  const Dictionary& d = r.dictionary("dimension_numbers");
  const Ints input = order_of(r, d, "input_batch_dimension", "input_spatial_dimensions",
                              "input_feature_dimension");
  Ints kernel = order_of(r, d, "kernel_output_feature_dimension", "kernel_spatial_dimensions",
                         "kernel_input_feature_dimension");
  const Ints output = order_of(r, d, "output_batch_dimension", "output_spatial_dimensions",
                               "output_feature_dimension");
  if (input.size() != kernel.size() || input.size() != output.size() ||
      static_cast<int>(input.size()) != r.operand(0).rank() ||
      static_cast<int>(kernel.size()) != r.operand(1).rank())
    r.fail("dimension_numbers do not fit {} and {}", to_string(r.operand(0).type()),
           to_string(r.operand(1).type()));
  std::rotate(kernel.begin() + 1, kernel.end() - 1, kernel.end());  // [O, I, spatial...]
  const size_t count = input.size() - 2;
  if (count > 2) r.unsupported("{} spatial dimensions", count);
  Spatial s(r, count);
  for (size_t i = count; i < 2; ++i) s.add_dimension();
  Tensor x = transpose(r.operand(0), input), weight = transpose(r.operand(1), kernel);
  x = widened(x, 4, x.rank() - 1);
  weight = widened(weight, 4, weight.rank());
  Ints flipped;
  for (size_t i = 0; i < count; ++i) {
    if (s.reversed[i]) flipped.push_back(static_cast<int64_t>(i) + 2);
  }
  if (!flipped.empty()) weight = reverse(weight, flipped);
  const int64_t groups = r.integer("feature_group_count", 1);
  const int64_t batch_groups = r.integer("batch_group_count", 1);
  if (groups < 1 || batch_groups < 1 || batch_groups > 4096 || (groups > 1 && batch_groups > 1))
    r.fail("{} groups of features and {} of the batch", groups, batch_groups);
  Tensor y = batch_groups == 1 ? convolve(x, weight, s, groups)
                               : convolve_batch_groups(r, x, weight, s, batch_groups);
  Ints dims = y.shape().dims();
  dims.erase(dims.begin() + 1 + static_cast<int64_t>(count), dims.end() - 1);
  y = transpose(reshape(y, dims), inverse(output));
  return {convert(y, r.result_type().dtype)};
}

}  // namespace centavo::stablehlo
