// convolution and its two gradients through oneDNN, on channels-last images. Weights, which are
// held as [O, I / groups, KH, KW], are brought into the layout that oneDNN prefers at each run.
#include <dnnl.hpp>
#include <map>
#include <omp.h>
#include <optional>

#include "centavo/backend/cpu/kernel.h"
#include "centavo/ir/op.h"

namespace centavo::cpu {
namespace {

using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;
using Type = dnnl::memory::data_type;

dnnl::engine& engine() {
  static dnnl::engine e(dnnl::engine::kind::cpu, 0);
  return e;
}

std::optional<Type> type_of(DType d) {
  if (d == DType::kF32) return Type::f32;
  if (d == DType::kBF16) return Type::bf16;
  return {};
}

// What oneDNN calls the three tensors and the window of one convolution.
struct Geometry {
  Dims x, w, y, strides, dilation, low, high;
  bool grouped;
};

Geometry geometry_of(const Attrs& attrs, const Shape& x, const Shape& w, const Shape& y) {
  Geometry g;
  const int64_t groups = attrs.integer("groups");
  g.grouped = groups > 1;
  g.x = {x[0], x[3], x[1], x[2]};
  g.y = {y[0], y[3], y[1], y[2]};
  g.w = g.grouped ? Dims{groups, w[0] / groups, w[1], w[2], w[3]} : Dims{w[0], w[1], w[2], w[3]};
  g.strides = attrs.ints("strides");
  for (int64_t d : attrs.ints("dilation")) g.dilation.push_back(d - 1);
  g.low = attrs.ints("padding_low");
  g.high = attrs.ints("padding_high");
  return g;
}

bool plain(const Attrs& attrs) {
  for (int64_t d : attrs.ints("input_dilation")) {
    if (d != 1) return false;
  }
  for (const char* side : {"padding_low", "padding_high"}) {
    for (int64_t p : attrs.ints(side)) {
      if (p < 0) return false;
    }
  }
  return true;
}

using Desc = dnnl::memory::desc;

Desc image(const Dims& dims, Type type) {
  return {dims, type, Tag::nhwc};
}
Desc user_weight(const Geometry& g, Type type) {
  return {g.w, type, g.grouped ? Tag::goihw : Tag::oihw};
}
Desc any_weight(const Geometry& g, Type type) {
  return {g.w, type, Tag::any};
}

dnnl::primitive_attr scratch_by_user() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

dnnl::convolution_forward::primitive_desc forward_desc(const Geometry& g, Type type) {
  return {{dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, image(g.x, type),
           any_weight(g, type), image(g.y, type), g.strides, g.dilation, g.low, g.high},
          scratch_by_user(),
          engine()};
}

// One primitive, its scratch, and the reorder between the weight's two layouts; shared by a
// kernel's copies.
struct Program {
  dnnl::primitive primitive;
  Desc weight;                // as the primitive wants it
  dnnl::memory inner_weight;  // null when the user's layout is that one already
  dnnl::memory scratch;
  dnnl::reorder reorder;  // between the user's weight and inner_weight
};

std::shared_ptr<Program> make_program(const dnnl::primitive& primitive, const Desc& scratch,
                                      const Desc& user, const Desc& wanted, bool weight_is_result) {
  auto p = std::make_shared<Program>();
  p->primitive = primitive;
  p->weight = wanted;
  p->scratch = dnnl::memory(scratch, engine());
  if (wanted == user) return p;
  p->inner_weight = dnnl::memory(wanted, engine());
  dnnl::memory outer(user, engine(), nullptr);
  p->reorder = weight_is_result ? dnnl::reorder(p->inner_weight, outer)
                                : dnnl::reorder(outer, p->inner_weight);
  return p;
}

dnnl::memory view(const Desc& desc, const std::byte* data) {
  return {desc, engine(), const_cast<std::byte*>(data)};
}

// oneDNN's own OpenMP regions take their team from the calling thread.
void use_threads(int threads) {
  omp_set_num_threads(threads);
}

// A program from one image (input 0) to another (output 0) by a weight (input 1); oneDNN knows the
// images as `from_arg` and `to_arg`.
Kernel image_kernel(std::shared_ptr<Program> p, int from_arg, const Desc& from, int to_arg,
                    const Desc& to, const Desc& user, int threads) {
  return [=](const KernelArgs& args) {
    use_threads(threads);
    dnnl::stream stream(engine());
    dnnl::memory weight = view(user, args.inputs[1]);
    if (p->inner_weight) {
      p->reorder.execute(stream, weight, p->inner_weight);
      weight = p->inner_weight;
    }
    p->primitive.execute(stream, {{from_arg, view(from, args.inputs[0])},
                                  {DNNL_ARG_WEIGHTS, weight},
                                  {to_arg, view(to, args.outputs[0])},
                                  {DNNL_ARG_SCRATCHPAD, p->scratch}});
    stream.wait();
  };
}

}  // namespace

Kernel make_convolution(const Node& node, const KernelContext& context) try {
  std::optional<Type> type = type_of(node.types[0].dtype);
  if (!type || !plain(node.attrs) || node.types[0].shape.elements() == 0) return {};
  Geometry g =
      geometry_of(node.attrs, node.inputs[0].shape(), node.inputs[1].shape(), node.types[0].shape);
  use_threads(context.threads);
  auto desc = forward_desc(g, *type);
  auto p = make_program(dnnl::convolution_forward(desc), desc.scratchpad_desc(),
                        user_weight(g, *type), desc.weights_desc(), false);
  return image_kernel(p, DNNL_ARG_SRC, image(g.x, *type), DNNL_ARG_DST, image(g.y, *type),
                      user_weight(g, *type), context.threads);
} catch (const dnnl::error&) {
  return {};  // a window that oneDNN does not take
}

Kernel make_convolution_input_grad(const Node& node, const KernelContext& context) try {
  std::optional<Type> type = type_of(node.types[0].dtype);
  if (!type || !plain(node.attrs) || node.inputs[0].shape().elements() == 0) return {};
  Geometry g =
      geometry_of(node.attrs, node.types[0].shape, node.inputs[1].shape(), node.inputs[0].shape());
  use_threads(context.threads);
  dnnl::convolution_backward_data::primitive_desc desc(
      {dnnl::algorithm::convolution_direct, image(g.x, *type), any_weight(g, *type),
       image(g.y, *type), g.strides, g.dilation, g.low, g.high},
      scratch_by_user(), engine(), forward_desc(g, *type));
  auto p = make_program(dnnl::convolution_backward_data(desc), desc.scratchpad_desc(),
                        user_weight(g, *type), desc.weights_desc(), false);
  return image_kernel(p, DNNL_ARG_DIFF_DST, image(g.y, *type), DNNL_ARG_DIFF_SRC, image(g.x, *type),
                      user_weight(g, *type), context.threads);
} catch (const dnnl::error&) {
  return {};
}

Kernel make_convolution_weight_grad(const Node& node, const KernelContext& context) try {
  std::optional<Type> type = type_of(node.inputs[0].dtype()), result = type_of(node.types[0].dtype);
  if (!type || !result || !plain(node.attrs) || node.inputs[1].shape().elements() == 0) return {};
  Geometry g =
      geometry_of(node.attrs, node.inputs[0].shape(), node.types[0].shape, node.inputs[1].shape());
  use_threads(context.threads);
  dnnl::convolution_backward_weights::primitive_desc desc(
      {dnnl::algorithm::convolution_direct, image(g.x, *type), any_weight(g, *result),
       image(g.y, *type), g.strides, g.dilation, g.low, g.high},
      scratch_by_user(), engine(), forward_desc(g, *type));
  auto p = make_program(dnnl::convolution_backward_weights(desc), desc.scratchpad_desc(),
                        user_weight(g, *result), desc.diff_weights_desc(), true);
  return [p, x = image(g.x, *type), y = image(g.y, *type), w = user_weight(g, *result),
          threads = context.threads](const KernelArgs& args) {
    use_threads(threads);
    dnnl::stream stream(engine());
    dnnl::memory outer = view(w, args.outputs[0]);
    p->primitive.execute(stream,
                         {{DNNL_ARG_SRC, view(x, args.inputs[0])},
                          {DNNL_ARG_DIFF_DST, view(y, args.inputs[1])},
                          {DNNL_ARG_DIFF_WEIGHTS, p->inner_weight ? p->inner_weight : outer},
                          {DNNL_ARG_SCRATCHPAD, p->scratch}});
    if (p->inner_weight) p->reorder.execute(stream, p->inner_weight, outer);
    stream.wait();
  };
} catch (const dnnl::error&) {
  return {};
}

}  // namespace centavo::cpu
