// softmax, cross_entropy and its gradient: one pass over memory each; what is read again of a row
// is in L1 or L2.
#include <cmath>
#include <limits>

#include "centavo/backend/cpu/kernel.h"
#include "centavo/backend/cpu/kernels/threads.h"
#include "centavo/ops/registry.h"

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "centavo/backend/cpu/kernels/softmax.cpp"
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "centavo/backend/cpu/kernels/vec-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace centavo::cpu::HWY_NAMESPACE {
namespace {

// What the elements of a row come to.
struct RowSums {
  float top;   // the largest
  float exps;  // the sum of exp(x - top)
  float sum;   // of x
};

// In one pass: the sum of exponentials is scaled down when a block has a larger element than those
// before it (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018).
template <class X>
HWY_INLINE RowSums row_sums(const X* x, int64_t width) {
  constexpr int64_t kBlock = 4096;  // elements, which stay in L1
  RowSums row{-std::numeric_limits<float>::infinity(), 0, 0};
  for (int64_t begin = 0; begin < width; begin += kBlock) {
    const X* block = x + begin;
    const int64_t count = std::min(kBlock, width - begin);
    const float top = std::max(
        row.top, max_lanes(count, [&](auto d, int64_t i) HWY_ATTR { return load(d, block + i); }));
    if (row.exps > 0) row.exps *= std::exp(row.top - top);
    row.top = top;
    const float shift = std::isinf(top) && top < 0 ? 0 : top;  // -inf - -inf would be no number
    const auto [exps, sum] = sum_lanes<2>(count, [&](auto d, int64_t i, auto* s) HWY_ATTR {
      const auto v = load(d, block + i);
      s[0] = hn::Add(s[0], exp(d, hn::Sub(v, hn::Set(d, shift))));
      s[1] = hn::Add(s[1], v);
    });
    row.exps += exps;
    row.sum += sum;
  }
  return row;
}

template <class X>
void softmax(const KernelArgs& args, Range rows, int64_t width, float /*smoothing*/) {
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    const X* x = args.in<X>(0) + r * width;
    const RowSums row = row_sums(x, width);
    const float top = row.top, scale = 1 / row.exps;
    map_lanes(width, args.out<X>(0) + r * width, [&](auto d, int64_t i) HWY_ATTR {
      return hn::Mul(exp(d, hn::Sub(load(d, x + i), hn::Set(d, top))), hn::Set(d, scale));
    });
  }
}

// What the target distribution gives to the label, and to every class.
struct Target {
  float label, each;
  Target(float smoothing, int64_t width)
      : label(1 - smoothing), each(smoothing / static_cast<float>(width)) {}
};

template <class X>
void cross_entropy(const KernelArgs& args, Range rows, int64_t width, float smoothing) {
  const Target target(smoothing, width);
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    const X* x = args.in<X>(0) + r * width;
    const int32_t label = args.in<int32_t>(1)[r];
    const RowSums row = row_sums(x, width);
    const float lse = std::log(row.exps) + row.top;
    float loss = std::numeric_limits<float>::quiet_NaN();
    if (label >= 0 && label < width) loss = lse - target.label * static_cast<float>(x[label]);
    if (smoothing > 0) loss -= target.each * row.sum;
    args.out<float>(0)[r] = loss;
    args.out<float>(1)[r] = lse;
  }
}

// (exp(x - lse) - target) d_loss. The result may be written over the logits.
template <class X>
void cross_entropy_grad(const KernelArgs& args, Range rows, int64_t width, float smoothing) {
  const Target target(smoothing, width);
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    const X* x = args.in<X>(0) + r * width;
    X* out = args.out<X>(0) + r * width;
    const int32_t label = args.in<int32_t>(1)[r];
    const bool valid = label >= 0 && label < width;
    const float lse = args.in<float>(2)[r],
                d_loss = valid ? args.in<float>(3)[r] : std::numeric_limits<float>::quiet_NaN();
    const float at_label = valid ? static_cast<float>(x[label]) : 0;
    map_lanes(width, out, [&](auto d, int64_t i) HWY_ATTR {
      const auto probability = exp(d, hn::Sub(load(d, x + i), hn::Set(d, lse)));
      return hn::Mul(hn::Sub(probability, hn::Set(d, target.each)), hn::Set(d, d_loss));
    });
    if (valid)
      out[label] = static_cast<X>((std::exp(at_label - lse) - target.each - target.label) * d_loss);
  }
}

using Function = void (*)(const KernelArgs&, Range, int64_t, float);

template <class X>
Function find_as(const Op* op) {
  if (op == &op_softmax) return softmax<X>;
  return op == &op_cross_entropy ? cross_entropy<X> : cross_entropy_grad<X>;
}
Function find_function(const Op* op, DType dtype) {
  return dtype == DType::kBF16 ? find_as<bf16>(op) : find_as<float>(op);
}

}  // namespace
}  // namespace centavo::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "centavo/backend/cpu/levels.h"

namespace centavo::cpu {
namespace {

Kernel row_kernel(const Node& node, float smoothing, const KernelContext& context) {
  const Tensor& x = node.inputs[0];
  const int64_t width = x.dim(-1);
  if ((x.dtype() != DType::kF32 && x.dtype() != DType::kBF16) || width == 0) return {};
  const int64_t rows = x.shape().elements() / width;
  const int team = team_for(x.shape().elements(), context.threads);
  const auto run = CENTAVO_AT_LEVEL(context.level, find_function)(node.op, x.dtype());
  return [=](const KernelArgs& args) {
    in_parallel(team, [&](int part) { run(args, share(rows, part, team), width, smoothing); });
  };
}

Kernel loss_kernel(const Node& node, const KernelContext& context) {
  return row_kernel(node, static_cast<float>(node.attrs.real("label_smoothing")), context);
}

}  // namespace

Kernel make_softmax(const Node& node, const KernelContext& context) {
  return row_kernel(node, 0, context);
}
Kernel make_cross_entropy(const Node& node, const KernelContext& context) {
  return loss_kernel(node, context);
}
Kernel make_cross_entropy_grad(const Node& node, const KernelContext& context) {
  return loss_kernel(node, context);
}

}  // namespace centavo::cpu
#endif
