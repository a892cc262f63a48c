// reduce_window and select_and_scatter on channels-last images: a vector of channels of a window at
// a time.
#include <limits>
#include <vector>

#include "centavo/backend/cpu/kernel.h"
#include "centavo/backend/cpu/kernels/scratch.h"
#include "centavo/backend/cpu/kernels/threads.h"
#include "centavo/ir/op.h"

#ifndef CENTAVO_POOLING_WINDOW_
#define CENTAVO_POOLING_WINDOW_
namespace centavo::cpu {
namespace {

struct Window {
  int64_t n, h, w, c;    // of the image
  int64_t out_h, out_w;  // positions
  int64_t rows, cols, stride_h, stride_w, low_h, low_w;

  // The pixels of the window at (y, x) that lie in the image.
  struct Part {
    int64_t top, bottom, left, right;
  };
  Part part(int64_t y, int64_t x) const {
    const int64_t top = y * stride_h - low_h, left = x * stride_w - low_w;
    return {std::max<int64_t>(0, top), std::min(h, top + rows), std::max<int64_t>(0, left),
            std::min(w, left + cols)};
  }
};

}  // namespace
}  // namespace centavo::cpu
#endif

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "centavo/backend/cpu/kernels/pooling.cpp"
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "centavo/backend/cpu/kernels/vec-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace centavo::cpu::HWY_NAMESPACE {
namespace {

// A NaN in a window is its maximum.
template <bool kMax, class D, class V>
HWY_INLINE V combine(D, V so_far, V x) {
  if constexpr (!kMax) return hn::Add(so_far, x);
  return hn::IfThenElse(hn::Or(hn::Gt(x, so_far), hn::IsNaN(x)), x, so_far);
}

// The output rows [rows.begin, rows.end) of all samples, counted through.
template <class T, bool kMax>
void pool(const KernelArgs& args, const Window& w, Range rows) {
  constexpr float kFirst = kMax ? -std::numeric_limits<float>::infinity() : 0.0f;
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const T* image = args.in<T>(0) + row / w.out_h * w.h * w.w * w.c;
    T* to = args.out<T>(0) + row * w.out_w * w.c;
    for (int64_t x = 0; x < w.out_w; ++x, to += w.c) {
      const Window::Part in = w.part(row % w.out_h, x);
      for_lanes(w.c, [&](auto d, int64_t c) HWY_ATTR {
        auto result = hn::Set(d, kFirst);
        for (int64_t i = in.top; i < in.bottom; ++i) {
          for (int64_t j = in.left; j < in.right; ++j)
            result = combine<kMax>(d, result, load(d, image + (i * w.w + j) * w.c + c));
        }
        store(d, result, to + c);
      });
    }
  }
}

// Adds dy to the first largest element of a window, channel by channel; `sums` holds the image's
// rows in turn, row i at i % w.rows.
template <class T>
HWY_INLINE void scatter_window(const Window& w, const Window::Part& in, const T* image, const T* dy,
                               float* sums) {
  for_lanes(w.c, [&](auto d, int64_t c) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> ints;
    auto best = load(d, image + (in.top * w.w + in.left) * w.c + c);
    auto where = hn::Zero(ints);
    int32_t pixel = 0;
    for (int64_t i = in.top; i < in.bottom; ++i) {
      for (int64_t j = in.left; j < in.right; ++j, ++pixel) {
        const auto x = load(d, image + (i * w.w + j) * w.c + c);
        const auto larger = hn::Gt(x, best);
        best = hn::IfThenElse(larger, x, best);
        where = hn::IfThenElse(hn::RebindMask(ints, larger), hn::Set(ints, pixel), where);
      }
    }
    const auto gradient = load(d, dy + c);
    pixel = 0;
    for (int64_t i = in.top; i < in.bottom; ++i) {
      for (int64_t j = in.left; j < in.right; ++j, ++pixel) {
        float* sum = sums + (i % w.rows * w.w + j) * w.c + c;
        const auto here = hn::RebindMask(d, hn::Eq(where, hn::Set(ints, pixel)));
        hn::StoreU(hn::Add(hn::LoadU(d, sum), hn::IfThenElseZero(here, gradient)), d, sum);
      }
    }
  });
}

// Whole samples. A row of dx is written when no window reaches it any more.
template <class T>
void scatter(const KernelArgs& args, const Window& w, Range samples) {
  static thread_local Scratch scratch;
  const int64_t row = w.w * w.c;
  auto* sums =
      reinterpret_cast<float*>(scratch.reserve(static_cast<size_t>(w.rows * row) * sizeof(float)));
  std::fill_n(sums, w.rows * row, 0.0f);
  for (int64_t n = samples.begin; n < samples.end; ++n) {
    const T* image = args.in<T>(0) + n * w.h * row;
    const T* dy = args.in<T>(1) + n * w.out_h * w.out_w * w.c;
    T* dx = args.out<T>(0) + n * w.h * row;
    int64_t written = 0;
    auto write_up_to = [&](int64_t end) HWY_ATTR {
      for (; written < end; ++written) {
        float* from = sums + written % w.rows * row;
        map_lanes(row, dx + written * row,
                  [&](auto d, int64_t i) HWY_ATTR { return load(d, from + i); });
        std::fill_n(from, row, 0.0f);
      }
    };
    for (int64_t y = 0; y < w.out_h; ++y) {
      write_up_to(std::min(w.h, y * w.stride_h - w.low_h));
      for (int64_t x = 0; x < w.out_w; ++x, dy += w.c)
        scatter_window(w, w.part(y, x), image, dy, sums);
    }
    write_up_to(w.h);
  }
}

using Function = void (*)(const KernelArgs&, const Window&, Range);

Function find_pool(DType dtype, bool is_max) {
  if (dtype == DType::kBF16) return is_max ? pool<bf16, true> : pool<bf16, false>;
  return is_max ? pool<float, true> : pool<float, false>;
}
Function find_scatter(DType dtype) {
  return dtype == DType::kBF16 ? scatter<bf16> : scatter<float>;
}

}  // namespace
}  // namespace centavo::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "centavo/backend/cpu/levels.h"

namespace centavo::cpu {
namespace {

Window window_of(const Attrs& attrs, const Shape& image, const Shape& pooled) {
  const auto &extent = attrs.ints("window"), &strides = attrs.ints("strides"),
             &low = attrs.ints("padding_low");
  return {image[0],  image[1],  image[2],   image[3],   pooled[1], pooled[2],
          extent[0], extent[1], strides[0], strides[1], low[0],    low[1]};
}

bool supported(const TensorType& type) {
  return type.dtype == DType::kF32 || type.dtype == DType::kBF16;
}

}  // namespace

Kernel make_reduce_window(const Node& node, const KernelContext& context) {
  const TensorType& type = node.types[0];
  if (!supported(type)) return {};
  const Window w = window_of(node.attrs, node.inputs[0].shape(), type.shape);
  const int team = team_for(type.shape.elements() * w.rows * w.cols, context.threads);
  const auto run =
      CENTAVO_AT_LEVEL(context.level, find_pool)(type.dtype, node.attrs.text("kind") == "max");
  return [=](const KernelArgs& args) {
    in_parallel(team, [&](int part) { run(args, w, share(w.n * w.out_h, part, team)); });
  };
}

Kernel make_select_and_scatter(const Node& node, const KernelContext& context) {
  const TensorType& type = node.types[0];
  if (!supported(type)) return {};
  const Window w = window_of(node.attrs, node.inputs[0].shape(), node.inputs[1].shape());
  const int team = team_for(type.shape.elements() * w.rows * w.cols, context.threads);
  const auto run = CENTAVO_AT_LEVEL(context.level, find_scatter)(type.dtype);
  return [=](const KernelArgs& args) {
    in_parallel(team, [&](int part) { run(args, w, share(w.n, part, team)); });
  };
}

}  // namespace centavo::cpu
#endif
