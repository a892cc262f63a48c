// layer_norm and layer_norm_grad: one pass over memory each; a row is converted once and then stays
// in L1.
#include <algorithm>
#include <cmath>
#include <omp.h>
#include <vector>

#include "centavo/backend/cpu/kernel.h"
#include "centavo/ir/op.h"

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "centavo/backend/cpu/kernels/layer_norm.cpp"
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "centavo/backend/cpu/kernels/vec-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace centavo::cpu::HWY_NAMESPACE {
namespace {

// One row of `width`: y, and its mean and 1 / sqrt(variance + eps). `row` is scratch.
template <class X, class W>
HWY_INLINE void normalize_row(const X* x, const W* weight, const W* bias, int64_t width, float eps,
                              float* row, X* y, float* mean, float* rstd) {
  const float n = static_cast<float>(width);
  const float mu = sum_lanes(width,
                             [&](auto d, int64_t i) HWY_ATTR {
                               const auto v = load(d, x + i);
                               hn::StoreU(v, d, row + i);
                               return v;
                             }) /
                   n;
  const float variance = sum_lanes(width,
                                   [&](auto d, int64_t i) HWY_ATTR {
                                     const auto c = hn::Sub(hn::LoadU(d, row + i), hn::Set(d, mu));
                                     return hn::Mul(c, c);
                                   }) /
                         n;
  const float scale = 1.0f / std::sqrt(variance + eps);
  for_lanes(width, [&](auto d, int64_t i) HWY_ATTR {
    const auto normal = hn::Mul(hn::Sub(hn::LoadU(d, row + i), hn::Set(d, mu)), hn::Set(d, scale));
    store(d, hn::MulAdd(normal, load(d, weight + i), load(d, bias + i)), y + i);
  });
  *mean = mu;
  *rstd = scale;
}

// dx of one row; adds the row's share of dweight and dbias. `normal` and `g` are scratch.
template <class X, class W>
HWY_INLINE void gradient_row(const X* x, const W* weight, float mean, float rstd, const X* dy,
                             int64_t width, float* normal, float* g, X* dx, float* dweight,
                             float* dbias) {
  float mean_g = 0;
  const float mean_gn =
      sum_lanes(width,
                [&](auto d, int64_t i) HWY_ATTR {
                  const auto n =
                      hn::Mul(hn::Sub(load(d, x + i), hn::Set(d, mean)), hn::Set(d, rstd));
                  const auto up = load(d, dy + i), scaled = hn::Mul(up, load(d, weight + i));
                  hn::StoreU(n, d, normal + i);
                  hn::StoreU(scaled, d, g + i);
                  hn::StoreU(hn::MulAdd(up, n, hn::LoadU(d, dweight + i)), d, dweight + i);
                  hn::StoreU(hn::Add(up, hn::LoadU(d, dbias + i)), d, dbias + i);
                  return hn::Mul(scaled, n);
                }) /
      static_cast<float>(width);
  mean_g = sum_lanes(width, [&](auto d, int64_t i) HWY_ATTR { return hn::LoadU(d, g + i); }) /
           static_cast<float>(width);
  for_lanes(width, [&](auto d, int64_t i) HWY_ATTR {
    const auto centred = hn::Sub(hn::LoadU(d, g + i), hn::Set(d, mean_g));
    const auto value = hn::NegMulAdd(hn::LoadU(d, normal + i), hn::Set(d, mean_gn), centred);
    store(d, hn::Mul(value, hn::Set(d, rstd)), dx + i);
  });
}

template <class X, class W>
void forward(const KernelArgs& args, int64_t begin, int64_t end, int64_t width, float eps,
             float* scratch) {
  for (int64_t r = begin; r < end; ++r) {
    normalize_row(args.in<X>(0) + r * width, args.in<W>(1), args.in<W>(2), width, eps, scratch,
                  args.out<X>(0) + r * width, args.out<float>(1) + r, args.out<float>(2) + r);
  }
}

template <class X, class W>
void backward(const KernelArgs& args, int64_t begin, int64_t end, int64_t width, float* partial,
              float* scratch) {
  std::fill_n(partial, 2 * width, 0.0f);
  for (int64_t r = begin; r < end; ++r) {
    gradient_row(args.in<X>(0) + r * width, args.in<W>(1), args.in<float>(2)[r],
                 args.in<float>(3)[r], args.in<X>(4) + r * width, width, scratch, scratch + width,
                 args.out<X>(0) + r * width, partial, partial + width);
  }
}

using Forward = void (*)(const KernelArgs&, int64_t, int64_t, int64_t, float, float*);
using Backward = void (*)(const KernelArgs&, int64_t, int64_t, int64_t, float*, float*);

Forward find_forward(bool x_bf16, bool w_bf16) {
  if (x_bf16) return w_bf16 ? forward<bf16, bf16> : forward<bf16, float>;
  return w_bf16 ? forward<float, bf16> : forward<float, float>;
}
Backward find_backward(bool x_bf16, bool w_bf16) {
  if (x_bf16) return w_bf16 ? backward<bf16, bf16> : backward<bf16, float>;
  return w_bf16 ? backward<float, bf16> : backward<float, float>;
}

}  // namespace
}  // namespace centavo::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "centavo/backend/cpu/levels.h"

namespace centavo::cpu {
namespace {

bool is_bf16(const Tensor& t) {
  return t.dtype() == DType::kBF16;
}
bool is_small_float(const Tensor& t) {
  return t.dtype() == DType::kBF16 || t.dtype() == DType::kF32;
}

struct Rows {
  int64_t count, width;
};
Rows rows_of(const Tensor& x) {
  const int64_t width = x.dim(-1);
  return {width == 0 ? 0 : x.shape().elements() / width, width};
}

// The part of `rows` that thread `t` of `threads` works on.
std::pair<int64_t, int64_t> share(int64_t rows, int t, int threads) {
  return {rows * t / threads, rows * (t + 1) / threads};
}

// Rows to a thread below which more threads do not pay.
int team_for(const Rows& rows, int threads) {
  constexpr int64_t kElements = 1 << 14;
  return static_cast<int>(std::clamp<int64_t>(rows.count * rows.width / kElements, 1, threads));
}

template <class T>
void round_to(const std::vector<float>& sums, int64_t begin, int64_t width, T* out) {
  for (int64_t i = 0; i < width; ++i) out[i] = static_cast<T>(sums[static_cast<size_t>(begin + i)]);
}

}  // namespace

Kernel make_layer_norm(const Node& node, const KernelContext& context) {
  const Tensor &x = node.inputs[0], &weight = node.inputs[1];
  if (!is_small_float(x) || !is_small_float(weight) || node.inputs[2].dtype() != weight.dtype())
    return {};
  const Rows rows = rows_of(x);
  const int team = team_for(rows, context.threads);
  auto scratch = std::make_shared<std::vector<float>>(static_cast<size_t>(team * rows.width));
  const auto run = CENTAVO_AT_LEVEL(cpu_level(), find_forward)(is_bf16(x), is_bf16(weight));
  const auto eps = static_cast<float>(node.attrs.real("eps"));
  return [=](const KernelArgs& args) {
#pragma omp parallel num_threads(team)
    {
      const int t = omp_get_thread_num();
      auto [begin, end] = share(rows.count, t, team);
      run(args, begin, end, rows.width, eps, scratch->data() + t * rows.width);
    }
  };
}

Kernel make_layer_norm_grad(const Node& node, const KernelContext& context) {
  const Tensor &x = node.inputs[0], &weight = node.inputs[1];
  if (!is_small_float(x) || !is_small_float(weight) || node.inputs[4].dtype() != x.dtype())
    return {};
  const Rows rows = rows_of(x);
  const int team = team_for(rows, context.threads);
  // Per thread: its share of dweight and dbias, then two rows of scratch, kept apart by a cache
  // line's padding.
  const int64_t stride = (4 * rows.width + 31) / 16 * 16;
  auto memory = std::make_shared<std::vector<float>>(static_cast<size_t>(team * stride));
  const auto run = CENTAVO_AT_LEVEL(cpu_level(), find_backward)(is_bf16(x), is_bf16(weight));
  const bool weight_bf16 = is_bf16(weight);
  return [=](const KernelArgs& args) {
#pragma omp parallel num_threads(team)
    {
      const int t = omp_get_thread_num();
      auto [begin, end] = share(rows.count, t, team);
      float* mine = memory->data() + t * stride;
      run(args, begin, end, rows.width, mine, mine + 2 * rows.width);
    }
    std::vector<float>& sums = *memory;
    for (int t = 1; t < team; ++t) {
      for (int64_t i = 0; i < 2 * rows.width; ++i)
        sums[static_cast<size_t>(i)] += sums[static_cast<size_t>(t * stride + i)];
    }
    for (size_t o : {1, 2}) {
      const int64_t begin = o == 1 ? 0 : rows.width;
      if (weight_bf16)
        round_to(sums, begin, rows.width, args.out<bf16>(o));
      else
        round_to(sums, begin, rows.width, args.out<float>(o));
    }
  };
}

}  // namespace centavo::cpu
#endif
