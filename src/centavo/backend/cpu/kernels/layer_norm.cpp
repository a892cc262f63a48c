// layer_norm and layer_norm_grad: one pass over memory each; what is read again of a row is in L1.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "centavo/backend/cpu/kernel.h"
#include "centavo/backend/cpu/kernels/threads.h"
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

// kRows rows that follow each other, together, so that one's sums need not be complete for the next
// one's to begin. Per row: y, the mean and 1 / sqrt(variance + eps).
template <size_t kRows, class X, class W>
HWY_INLINE void normalize_rows(const X* x, const W* weight, const W* bias, int64_t width, float eps,
                               X* y, float* mean, float* rstd) {
  const auto n = static_cast<float>(width);
  for (size_t r = 0; r < kRows; ++r) {
    const X* row = x + r * width;
    const auto [sum] = sum_lanes<1>(
        width, [&](auto d, int64_t i, auto* s) HWY_ATTR { *s = hn::Add(*s, load(d, row + i)); });
    mean[r] = sum / n;
  }
  for (size_t r = 0; r < kRows; ++r) {
    const X* row = x + r * width;
    const float mu = mean[r];
    const auto [squares] = sum_lanes<1>(width, [&](auto d, int64_t i, auto* s) HWY_ATTR {
      const auto centred = hn::Sub(load(d, row + i), hn::Set(d, mu));
      *s = hn::MulAdd(centred, centred, *s);
    });
    rstd[r] = 1.0f / std::sqrt(squares / n + eps);
  }
  for (size_t r = 0; r < kRows; ++r) {
    const X* row = x + r * width;
    const float mu = mean[r], scale = rstd[r];
    map_lanes(width, y + r * width, [&](auto d, int64_t i) HWY_ATTR {
      const auto normal = hn::Mul(hn::Sub(load(d, row + i), hn::Set(d, mu)), hn::Set(d, scale));
      return hn::MulAdd(normal, load(d, weight + i), load(d, bias + i));
    });
  }
}

template <size_t kCount, class F>
HWY_INLINE int64_t for_blocks_of(int64_t row, int64_t end, F& f) {
  constexpr auto kStep = static_cast<int64_t>(kCount);
  for (; row + kStep <= end; row += kStep) f(row, std::integral_constant<size_t, kCount>());
  return row;
}

// Calls f(row, count), with a constant count, for blocks of a few rows that lie in L1 together with
// what is made of them.
template <class F>
HWY_INLINE void for_row_blocks(Range rows, int64_t row_bytes, F f) {
  constexpr int64_t kBlockBytes = 8 << 10;
  int64_t row = rows.begin;
  if (4 * row_bytes <= kBlockBytes) row = for_blocks_of<4>(row, rows.end, f);
  if (2 * row_bytes <= kBlockBytes) row = for_blocks_of<2>(row, rows.end, f);
  for_blocks_of<1>(row, rows.end, f);
}

template <class X, class W>
void forward(const KernelArgs& args, Range rows, int64_t width, float eps) {
  for_row_blocks(rows, width * sizeof(X), [&](int64_t r, auto count) HWY_ATTR {
    normalize_rows<count>(args.in<X>(0) + r * width, args.in<W>(1), args.in<W>(2), width, eps,
                          args.out<X>(0) + r * width, args.out<float>(1) + r,
                          args.out<float>(2) + r);
  });
}

// Of kRows rows that follow each other. With n = (x - mean) rstd and g = dy weight,
//   dx = rstd (g - mean(g) - n mean(g n)),  dweight += dy n,  dbias += dy.
template <size_t kRows, class X, class W>
HWY_INLINE void gradient_rows(const X* x, const W* weight, const float* mean, const float* rstd,
                              const X* dy, int64_t width, X* dx, float* dweight, float* dbias) {
  std::array<float, kRows> shift, slope;  // dx = rstd g + n slope + shift
  for (size_t r = 0; r < kRows; ++r) {
    const X *xr = x + r * width, *dyr = dy + r * width;
    const auto [g_sum, gn_sum] = sum_lanes<2>(width, [&](auto d, int64_t i, auto* s) HWY_ATTR {
      __builtin_prefetch(dx + r * width + i, 1);
      const auto g = hn::Mul(load(d, dyr + i), load(d, weight + i));
      s[0] = hn::Add(s[0], g);
      s[1] = hn::MulAdd(g, hn::Sub(load(d, xr + i), hn::Set(d, mean[r])), s[1]);
    });
    const float scale = -rstd[r] / static_cast<float>(width);
    shift[r] = g_sum * scale;
    slope[r] = gn_sum * rstd[r] * scale;
  }
  auto all_rows = [&](auto d, int64_t i) HWY_ATTR {
    const auto w = load(d, weight + i);
    auto weight_sum = hn::LoadU(d, dweight + i), bias_sum = hn::LoadU(d, dbias + i);
    for (size_t r = 0; r < kRows; ++r) {
      const int64_t at = r * width + i;
      const auto scale = hn::Set(d, rstd[r]), up = load(d, dy + at);
      const auto normal = hn::Mul(hn::Sub(load(d, x + at), hn::Set(d, mean[r])), scale);
      weight_sum = hn::MulAdd(up, normal, weight_sum);
      bias_sum = hn::Add(up, bias_sum);
      const auto own = hn::MulAdd(normal, hn::Set(d, slope[r]), hn::Set(d, shift[r]));
      store(d, hn::MulAdd(up, hn::Mul(w, scale), own), dx + at);
    }
    hn::StoreU(weight_sum, d, dweight + i);
    hn::StoreU(bias_sum, d, dbias + i);
  };
  for_lanes(width, all_rows);
}

// `partial` becomes these rows' share of dweight, then that of dbias.
template <class X, class W>
void backward(const KernelArgs& args, Range rows, int64_t width, float* partial) {
  std::fill_n(partial, 2 * width, 0.0f);
  for_row_blocks(rows, width * sizeof(X), [&](int64_t r, auto count) HWY_ATTR {
    gradient_rows<count>(args.in<X>(0) + r * width, args.in<W>(1), args.in<float>(2) + r,
                         args.in<float>(3) + r, args.in<X>(4) + r * width, width,
                         args.out<X>(0) + r * width, partial, partial + width);
  });
}

using Forward = void (*)(const KernelArgs&, Range, int64_t, float);
using Backward = void (*)(const KernelArgs&, Range, int64_t, float*);

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

struct Rows {
  int64_t count, width;
};
// Nothing when the kernels do not have these types, or rows are empty.
std::optional<Rows> rows_of(const Tensor& x, const Tensor& weight) {
  auto small = [](const Tensor& t) { return t.dtype() == DType::kF32 || is_bf16(t); };
  const int64_t width = x.dim(-1);
  if (!small(x) || !small(weight) || width == 0) return {};
  return Rows{x.shape().elements() / width, width};
}

template <class T>
void round_to(const float* sums, int64_t width, T* out) {
  for (int64_t i = 0; i < width; ++i) out[i] = static_cast<T>(sums[i]);
}

}  // namespace

Kernel make_layer_norm(const Node& node, const KernelContext& context) {
  const Tensor &x = node.inputs[0], &weight = node.inputs[1];
  const std::optional<Rows> rows = rows_of(x, weight);
  if (!rows || node.inputs[2].dtype() != weight.dtype()) return {};
  const int team = team_for(rows->count * rows->width, context.threads);
  const auto run = CENTAVO_AT_LEVEL(context.level, find_forward)(is_bf16(x), is_bf16(weight));
  const auto eps = static_cast<float>(node.attrs.real("eps"));
  return [=, count = rows->count, width = rows->width](const KernelArgs& args) {
    in_parallel(team, [&](int part) { run(args, share(count, part, team), width, eps); });
  };
}

Kernel make_layer_norm_grad(const Node& node, const KernelContext& context) {
  const Tensor &x = node.inputs[0], &weight = node.inputs[1];
  const std::optional<Rows> rows = rows_of(x, weight);
  if (!rows || node.inputs[4].dtype() != x.dtype()) return {};
  const int team = team_for(rows->count * rows->width, context.threads);
  // Each part's share of dweight and dbias, kept apart by a cache line.
  const int64_t stride = 2 * rows->width + 16;
  auto sums = std::make_shared<std::vector<float>>(team * stride);
  const auto run = CENTAVO_AT_LEVEL(context.level, find_backward)(is_bf16(x), is_bf16(weight));
  return [=, count = rows->count, width = rows->width,
          weight_bf16 = is_bf16(weight)](const KernelArgs& args) {
    float* total = sums->data();
    in_parallel(
        team, [&](int part) { run(args, share(count, part, team), width, total + part * stride); });
    for (int part = 1; part < team; ++part) {
      for (int64_t i = 0; i < 2 * width; ++i) total[i] += total[part * stride + i];
    }
    for (size_t o : {1, 2}) {
      const float* from = o == 1 ? total : total + width;
      weight_bf16 ? round_to(from, width, args.out<bf16>(o))
                  : round_to(from, width, args.out<float>(o));
    }
  };
}

}  // namespace centavo::cpu
#endif
