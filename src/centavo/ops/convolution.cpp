// convolution and the two products that its gradient needs. The gradients are ops of their own, so
// that a backend may have kernels for them; elsewhere they are convolutions of dilated, reversed or
// swapped operands.
#include <algorithm>

#include "centavo/ops/conv.h"
#include "centavo/ops/creation.h"
#include "centavo/ops/elementwise.h"
#include "centavo/ops/movement.h"
#include "centavo/ops/registry.h"

namespace centavo {
namespace {

using Ints = std::vector<int64_t>;
using Pair = std::array<int64_t, 2>;

Pair pair(const Attrs& attrs, const char* name) {
  const Ints& v = attrs.ints(name);
  CENTAVO_CHECK(v.size() == 2, "{} has {} entries", name, v.size());
  return {v[0], v[1]};
}

ConvOptions options_of(const Attrs& attrs) {
  return {pair(attrs, "strides"),        pair(attrs, "padding_low"), pair(attrs, "padding_high"),
          pair(attrs, "input_dilation"), pair(attrs, "dilation"),    attrs.integer("groups")};
}

Attrs attrs_of(const ConvOptions& o) {
  auto ints = [](const Pair& p) { return Ints{p[0], p[1]}; };
  return Attrs()
      .set("strides", ints(o.strides))
      .set("padding_low", ints(o.padding_low))
      .set("padding_high", ints(o.padding_high))
      .set("input_dilation", ints(o.input_dilation))
      .set("dilation", ints(o.dilation))
      .set("groups", o.groups);
}

int64_t dilated(int64_t extent, int64_t step) {
  return extent == 0 ? 0 : (extent - 1) * step + 1;
}

// Output extent along spatial dimension d.
int64_t out_extent(int64_t in, int64_t kernel, const ConvOptions& o, size_t d) {
  int64_t room = dilated(in, o.input_dilation[d]) + o.padding_low[d] + o.padding_high[d] -
                 dilated(kernel, o.dilation[d]);
  return room < 0 ? 0 : room / o.strides[d] + 1;
}

void check_operands(const InferArgs& args, const Shape& x, const Shape& w, const ConvOptions& o) {
  if (x.rank() != 4 || w.rank() != 4)
    args.fail("expects x[N, H, W, C] and weight[O, I, KH, KW], got {} and {}", to_string(x),
              to_string(w));
  if (o.groups < 1 || x[3] != w[1] * o.groups || w[0] % o.groups != 0) {
    args.fail("weight {} expects C={} in {} group(s), got {}", to_string(w), w[1] * o.groups,
              o.groups, x[3]);
  }
  for (size_t d : {0, 1}) {
    if (o.strides[d] < 1 || o.dilation[d] < 1 || o.input_dilation[d] < 1)
      args.fail("strides and dilations must be positive");
  }
}

std::vector<TensorType> infer(const InferArgs& args) {
  args.expect_inputs(2);
  ConvOptions o = options_of(args.attrs);
  const Shape &x = args.shape(0), &w = args.shape(1);
  if (args.dtype(0) != args.dtype(1) || !is_floating(args.dtype(0))) {
    args.fail("expects one floating dtype, got {} and {}", to_string(args.type(0)),
              to_string(args.type(1)));
  }
  check_operands(args, x, w, o);
  return {
      {args.dtype(0), {x[0], out_extent(x[1], w[2], o, 0), out_extent(x[2], w[3], o, 1), w[0]}}};
}

// Calls f(input position, output position, kernel position) along one dimension for every pair that
// meets.
template <class F>
void for_taps(int64_t in, int64_t kernel, int64_t out, const ConvOptions& o, size_t d, F f) {
  for (int64_t y = 0; y < out; ++y) {
    for (int64_t k = 0; k < kernel; ++k) {
      int64_t at = y * o.strides[d] + k * o.dilation[d] - o.padding_low[d];
      if (at < 0 || at % o.input_dilation[d] != 0 || at / o.input_dilation[d] >= in) continue;
      f(at / o.input_dilation[d], y, k);
    }
  }
}

std::vector<Array> eval(std::span<const Array> in, const Node& node) {
  ConvOptions o = options_of(node.attrs);
  const Shape &x = in[0].type.shape, &w = in[1].type.shape, &y = node.types[0].shape;
  Array out(node.types[0]);
  const int64_t group_out = w[0] / o.groups, group_in = w[1];
  for_taps(x[1], w[2], y[1], o, 0, [&](int64_t xh, int64_t yh, int64_t kh) {
    for_taps(x[2], w[3], y[2], o, 1, [&](int64_t xw, int64_t yw, int64_t kw) {
      for (int64_t n = 0; n < x[0]; ++n) {
        for (int64_t c = 0; c < w[0]; ++c) {
          double total = 0;
          for (int64_t i = 0; i < group_in; ++i) {
            int64_t from = ((n * x[1] + xh) * x[2] + xw) * x[3] + c / group_out * group_in + i;
            int64_t weight = ((c * group_in + i) * w[2] + kh) * w[3] + kw;
            total +=
                in[0].reals[static_cast<size_t>(from)] * in[1].reals[static_cast<size_t>(weight)];
          }
          out.reals[static_cast<size_t>(((n * y[1] + yh) * y[2] + yw) * y[3] + c)] += total;
        }
      }
    });
  });
  return {out};
}

Cost cost_of_taps(const Node& node, const Shape& y, const Shape& w) {
  double bytes = static_cast<double>(node.types[0].bytes());
  for (const Tensor& input : node.inputs) bytes += static_cast<double>(input.type().bytes());
  return {2.0 * static_cast<double>(y.elements()) * static_cast<double>(w[1] * w[2] * w[3]), bytes};
}

// The padding that makes a convolution over `in` (dilated) with `kernel` produce `out` positions.
int64_t high_padding(int64_t in, int64_t in_step, int64_t kernel, int64_t kernel_step,
                     int64_t stride, int64_t low, int64_t out) {
  return (out - 1) * stride + dilated(kernel, kernel_step) - dilated(in, in_step) - low;
}

// (dy, weight) -> dx: dy with zeros between its elements, by the kernel turned round, its channels
// swapped.
std::vector<Tensor> decompose_input_grad(std::span<const Tensor> in, const Attrs& attrs) {
  ConvOptions o = options_of(attrs);
  const Tensor &dy = in[0], &w = in[1];
  Shape x(attrs.ints("input_shape"));
  ConvOptions back;
  back.groups = o.groups;
  for (size_t d : {0, 1}) {
    int64_t kernel = w.dim(static_cast<int>(d) + 2), extent = dy.dim(static_cast<int>(d) + 1);
    back.input_dilation[d] = o.strides[d];
    back.dilation[d] = o.dilation[d];
    back.strides[d] = o.input_dilation[d];
    back.padding_low[d] = dilated(kernel, o.dilation[d]) - 1 - o.padding_low[d];
    back.padding_high[d] =
        high_padding(extent, o.strides[d], kernel, o.dilation[d], back.strides[d],
                     back.padding_low[d], x[static_cast<int>(d) + 1]);
  }
  // [O, I/g, KH, KW] -> [I, O/g, KH, KW], group by group.
  Tensor grouped = reshape(w, {o.groups, w.dim(0) / o.groups, w.dim(1), w.dim(2), w.dim(3)});
  Tensor swapped = reshape(transpose(grouped, {0, 2, 1, 3, 4}),
                           {o.groups * w.dim(1), w.dim(0) / o.groups, w.dim(2), w.dim(3)});
  return {conv2d(dy, reverse(swapped, {2, 3}), back)};
}

// (x, dy) -> dweight: x as an image of C batches with N channels, by dy as the kernel; one group at
// a time.
std::vector<Tensor> decompose_weight_grad(std::span<const Tensor> in, const Attrs& attrs) {
  ConvOptions o = options_of(attrs);
  const Tensor &x = in[0], &dy = in[1];
  Shape w(attrs.ints("weight_shape"));
  ConvOptions across;
  for (size_t d : {0, 1}) {
    int64_t extent = x.dim(static_cast<int>(d) + 1), positions = dy.dim(static_cast<int>(d) + 1);
    across.strides[d] = o.dilation[d];
    across.dilation[d] = o.strides[d];
    across.input_dilation[d] = o.input_dilation[d];
    across.padding_low[d] = o.padding_low[d];
    across.padding_high[d] =
        high_padding(extent, o.input_dilation[d], positions, o.strides[d], o.dilation[d],
                     o.padding_low[d], w[static_cast<int>(d) + 2]);
  }
  std::vector<Tensor> parts;
  const int64_t group_in = w[1], group_out = w[0] / o.groups;
  for (int64_t g = 0; g < o.groups; ++g) {
    Tensor image = transpose(slice_axis(x, 3, g * group_in, (g + 1) * group_in), {3, 1, 2, 0});
    Tensor kernel = transpose(slice_axis(dy, 3, g * group_out, (g + 1) * group_out), {3, 0, 1, 2});
    parts.push_back(transpose(conv2d(image, kernel, across),
                              {3, 0, 1, 2}));  // [I, KH, KW, O] -> [O, I, KH, KW]
  }
  return {convert(concatenate(parts, 0), attrs.dtype("dtype"))};
}

std::vector<Case> cases_of(bool input_grad, bool weight_grad) {
  std::vector<Case> list;
  auto add = [&](std::string label, Shape x, Shape w, ConvOptions o) {
    for (DType d : {DType::kF32, DType::kBF16}) {
      Shape y{x[0], out_extent(x[1], w[2], o, 0), out_extent(x[2], w[3], o, 1), w[0]};
      Attrs attrs = attrs_of(o);
      std::vector<CaseInput> inputs = {{{d, x}}, {{d, w}}};
      if (input_grad) inputs = {{{d, y}}, {{d, w}}}, attrs.set("input_shape", x.dims());
      if (weight_grad)
        inputs = {{{d, x}}, {{d, y}}}, attrs.set("weight_shape", w.dims()).set("dtype", d);
      list.push_back({fmt::format("{}_{}", label, name_of(d)), inputs, attrs, 2e-5,
                      !input_grad && !weight_grad});
    }
  };
  add("pointwise", {2, 5, 7, 6}, {9, 6, 1, 1}, conv_options(1, 0));
  add("same3x3", {2, 9, 8, 5}, {7, 5, 3, 3}, conv_options(1, 1));
  add("stem7x7s2", {1, 17, 19, 3}, {8, 3, 7, 7}, conv_options(2, 3));
  add("stride2_even", {2, 8, 8, 16}, {16, 16, 3, 3}, conv_options(2, 1));
  add("downsample1x1s2", {1, 7, 7, 4}, {8, 4, 1, 1}, conv_options(2, 0));
  add("grouped", {2, 6, 6, 8}, {12, 2, 3, 3}, conv_options(1, 1, 4));
  add("depthwise_s2", {1, 9, 9, 6}, {6, 1, 3, 3}, conv_options(2, 1, 6));
  add("dilated", {1, 11, 11, 3}, {4, 3, 3, 3}, conv_options(1, 2, 1, 2));
  add("patches", {2, 8, 8, 3}, {5, 3, 4, 4}, conv_options(4, 0));
  return list;
}

}  // namespace

const Op op_convolution = {
    .name = "convolution",
    .infer = infer,
    .vjp = [](const VjpArgs& a) -> std::vector<Tensor> {
      Tensor dx, dw;
      if (a.needs[0]) {
        Attrs attrs = a.attrs;
        attrs.set("input_shape", a.inputs[0].shape().dims());
        dx = record1(op_convolution_input_grad, {a.grads[0], a.inputs[1]}, attrs);
      }
      if (a.needs[1]) {
        Attrs attrs = a.attrs;
        attrs.set("weight_shape", a.inputs[1].shape().dims()).set("dtype", a.inputs[1].dtype());
        dw = record1(op_convolution_weight_grad, {a.inputs[0], a.grads[0]}, attrs);
      }
      return {dx, dw};
    },
    .eval = eval,
    .cost =
        [](const Node& node) {
          return cost_of_taps(node, node.types[0].shape, node.inputs[1].shape());
        },
    .cases = [] { return cases_of(false, false); },
};

const Op op_convolution_input_grad = {
    .name = "convolution_input_grad",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(2);
      Shape x(args.attrs.ints("input_shape"));
      check_operands(args, x, args.shape(1), options_of(args.attrs));
      return {{args.dtype(0), x}};
    },
    .decompose = decompose_input_grad,
    .cost =
        [](const Node& node) {
          return cost_of_taps(node, node.inputs[0].shape(), node.inputs[1].shape());
        },
    .cases = [] { return cases_of(true, false); },
};

// The result's dtype is an attribute: a weight's gradient may be wanted in fp32 from bf16 operands.
const Op op_convolution_weight_grad = {
    .name = "convolution_weight_grad",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(2);
      Shape w(args.attrs.ints("weight_shape"));
      check_operands(args, args.shape(0), w, options_of(args.attrs));
      return {{args.attrs.dtype("dtype"), w}};
    },
    .decompose = decompose_weight_grad,
    .cost =
        [](const Node& node) {
          return cost_of_taps(node, node.inputs[1].shape(), node.types[0].shape);
        },
    .cases = [] { return cases_of(false, true); },
};

ConvOptions conv_options(int64_t stride, int64_t padding, int64_t groups, int64_t dilation) {
  ConvOptions o;
  o.strides = {stride, stride};
  o.padding_low = o.padding_high = {padding, padding};
  o.dilation = {dilation, dilation};
  o.groups = groups;
  return o;
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const ConvOptions& options, const Loc& loc) {
  return record1(op_convolution, {x, weight}, attrs_of(options), loc);
}

}  // namespace centavo
