// adam_update and sgd_update: one pass over a parameter and its state, in place or not.
#include "centavo/backend/cpu/kernel.h"
#include "centavo/backend/cpu/kernels/threads.h"
#include "centavo/ir/op.h"

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "centavo/backend/cpu/kernels/update.cpp"
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "centavo/backend/cpu/kernels/vec-inl.h"
// clang-format on

#ifndef CENTAVO_KERNELS_UPDATE_ONCE
#define CENTAVO_KERNELS_UPDATE_ONCE
namespace centavo::cpu {

// The complements are rounded on their own: 1 - 0.999f would be off by 5e-5 of its value.
struct AdamRule {
  float beta1, beta2, complement1, complement2, eps, decay;
  bool decoupled;
};
struct SgdRule {
  float momentum, dampening, decay;
  bool nesterov;
};

}  // namespace centavo::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace centavo::cpu::HWY_NAMESPACE {
namespace {

// P is the dtype of parameter and state, G of the gradient. Elements [begin, end).
template <class P, class G>
void adam(const AdamRule& rule, const KernelArgs& args, int64_t begin, int64_t end) {
  const P *p_in = args.in<P>(0) + begin, *m_in = args.in<P>(2) + begin,
          *v_in = args.in<P>(3) + begin;
  const G* g_in = args.in<G>(1) + begin;
  P *p_out = args.out<P>(0) + begin, *m_out = args.out<P>(1) + begin,
    *v_out = args.out<P>(2) + begin;
  const float step_size = args.in<float>(4)[0], correction = args.in<float>(4)[1],
              lr = args.in<float>(4)[2];
  // Factors of the parameter in the gradient and in itself.
  const float coupled = rule.decoupled ? 0 : rule.decay,
              keep = rule.decoupled ? 1 - lr * rule.decay : 1;
  for_lanes(end - begin, [&](auto d, int64_t i) HWY_ATTR {
    auto set = [d](float x) HWY_ATTR { return hn::Set(d, x); };
    auto p = load(d, p_in + i), g = load(d, g_in + i);
    if (coupled != 0) g = hn::MulAdd(p, set(coupled), g);
    p = hn::Mul(p, set(keep));
    const auto m =
        hn::MulAdd(g, set(rule.complement1), hn::Mul(load(d, m_in + i), set(rule.beta1)));
    const auto v = hn::MulAdd(hn::Mul(g, g), set(rule.complement2),
                              hn::Mul(load(d, v_in + i), set(rule.beta2)));
    const auto denominator = hn::MulAdd(hn::Sqrt(v), set(correction), set(rule.eps));
    p = hn::Sub(p, hn::Div(hn::Mul(set(step_size), m), denominator));
    store(d, p, p_out + i);
    store(d, m, m_out + i);
    store(d, v, v_out + i);
  });
}

template <class P, class G>
void sgd(const SgdRule& rule, const KernelArgs& args, int64_t begin, int64_t end) {
  const bool has_momentum = args.inputs.size() == 4;
  const float lr = args.in<float>(has_momentum ? 3 : 2)[0];
  const P *p_in = args.in<P>(0) + begin, *m_in = has_momentum ? args.in<P>(2) + begin : nullptr;
  const G* g_in = args.in<G>(1) + begin;
  P *p_out = args.out<P>(0) + begin, *m_out = has_momentum ? args.out<P>(1) + begin : nullptr;
  for_lanes(end - begin, [&](auto d, int64_t i) HWY_ATTR {
    auto p = load(d, p_in + i), g = load(d, g_in + i);
    if (rule.decay != 0) g = hn::MulAdd(p, hn::Set(d, rule.decay), g);
    if (has_momentum) {
      const auto kept = hn::Mul(load(d, m_in + i), hn::Set(d, rule.momentum));
      const auto buffer = hn::MulAdd(g, hn::Set(d, 1 - rule.dampening), kept);
      g = rule.nesterov ? hn::MulAdd(buffer, hn::Set(d, rule.momentum), g) : buffer;
      store(d, buffer, m_out + i);
    }
    store(d, hn::NegMulAdd(g, hn::Set(d, lr), p), p_out + i);
  });
}

using Adam = void (*)(const AdamRule&, const KernelArgs&, int64_t, int64_t);
using Sgd = void (*)(const SgdRule&, const KernelArgs&, int64_t, int64_t);

Adam find_adam(bool p_bf16, bool g_bf16) {
  if (p_bf16) return g_bf16 ? adam<bf16, bf16> : adam<bf16, float>;
  return g_bf16 ? adam<float, bf16> : adam<float, float>;
}
Sgd find_sgd(bool p_bf16, bool g_bf16) {
  if (p_bf16) return g_bf16 ? sgd<bf16, bf16> : sgd<bf16, float>;
  return g_bf16 ? sgd<float, bf16> : sgd<float, float>;
}

}  // namespace
}  // namespace centavo::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "centavo/backend/cpu/levels.h"

namespace centavo::cpu {
namespace {

// All inputs but the gradient (1) and the hyperparameters (last) have the parameter's dtype, and
// that is a small one.
bool supported(const Node& node) {
  const DType p = node.inputs[0].dtype(), g = node.inputs[1].dtype();
  if ((p != DType::kF32 && p != DType::kBF16) || (g != DType::kF32 && g != DType::kBF16))
    return false;
  for (size_t i = 2; i + 1 < node.inputs.size(); ++i) {
    if (node.inputs[i].dtype() != p) return false;
  }
  return true;
}

// Runs f(range) over [0, count) in one range a thread, at multiples of a cache line.
template <class F>
void in_ranges(int64_t count, int threads, F f) {
  constexpr int64_t kLine = 32;
  const int team = team_for(count, threads);
  in_parallel(team, [&](int part) { f(share(count, part, team, kLine)); });
}

bool is_bf16(const Tensor& t) {
  return t.dtype() == DType::kBF16;
}

}  // namespace

Kernel make_adam_update(const Node& node, const KernelContext& context) {
  if (!supported(node)) return {};
  auto real = [&](const char* name) { return static_cast<float>(node.attrs.real(name)); };
  auto complement = [&](const char* name) { return static_cast<float>(1 - node.attrs.real(name)); };
  const AdamRule rule{
      real("beta1"), real("beta2"),        complement("beta1"),         complement("beta2"),
      real("eps"),   real("weight_decay"), node.attrs.flag("decoupled")};
  const auto run =
      CENTAVO_AT_LEVEL(context.level, find_adam)(is_bf16(node.inputs[0]), is_bf16(node.inputs[1]));
  const int64_t count = node.types[0].shape.elements();
  return [=, threads = context.threads](const KernelArgs& args) {
    in_ranges(count, threads, [&](Range range) { run(rule, args, range.begin, range.end); });
  };
}

Kernel make_sgd_update(const Node& node, const KernelContext& context) {
  if (!supported(node)) return {};
  auto real = [&](const char* name) { return static_cast<float>(node.attrs.real(name)); };
  const SgdRule rule{real("momentum"), real("dampening"), real("weight_decay"),
                     node.attrs.flag("nesterov")};
  const auto run =
      CENTAVO_AT_LEVEL(context.level, find_sgd)(is_bf16(node.inputs[0]), is_bf16(node.inputs[1]));
  const int64_t count = node.types[0].shape.elements();
  return [=, threads = context.threads](const KernelArgs& args) {
    in_ranges(count, threads, [&](Range range) { run(rule, args, range.begin, range.end); });
  };
}

}  // namespace centavo::cpu
#endif
