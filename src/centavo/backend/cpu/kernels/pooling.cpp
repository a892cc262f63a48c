// reduce_window and select_and_scatter on channels-last images, a sample at a time, all channels of
// a window together.
#include <algorithm>
#include <limits>
#include <vector>

#include "centavo/backend/cpu/kernel.h"
#include "centavo/base/bf16.h"
#include "centavo/ir/op.h"

namespace centavo::cpu {
namespace {

struct Window {
  int64_t n, h, w, c;    // of the image
  int64_t out_h, out_w;  // positions
  int64_t rows, cols, stride_h, stride_w, low_h, low_w;
};

Window window_of(const Attrs& attrs, const Shape& image, const Shape& pooled) {
  const auto &extent = attrs.ints("window"), &strides = attrs.ints("strides"),
             &low = attrs.ints("padding_low");
  return {image[0],  image[1],  image[2],   image[3],   pooled[1], pooled[2],
          extent[0], extent[1], strides[0], strides[1], low[0],    low[1]};
}

// Calls f(pixel) for the pixels of the window at (y, x) that lie in the image, row by row.
template <class F>
void for_pixels(const Window& w, int64_t y, int64_t x, F f) {
  const int64_t top = y * w.stride_h - w.low_h, left = x * w.stride_w - w.low_w;
  for (int64_t i = std::max<int64_t>(0, top); i < std::min(w.h, top + w.rows); ++i) {
    for (int64_t j = std::max<int64_t>(0, left); j < std::min(w.w, left + w.cols); ++j)
      f(i * w.w + j);
  }
}

template <class T>
void pool(const Window& w, bool is_max, const T* image, T* out, float* best) {
  for (int64_t y = 0; y < w.out_h; ++y) {
    for (int64_t x = 0; x < w.out_w; ++x) {
      std::fill_n(best, w.c, is_max ? -std::numeric_limits<float>::infinity() : 0.0f);
      for_pixels(w, y, x, [&](int64_t pixel) {
        const T* from = image + pixel * w.c;
        for (int64_t c = 0; c < w.c; ++c) {
          const float v = from[c];
          best[c] = is_max ? (v > best[c] || v != v ? v : best[c]) : best[c] + v;
        }
      });
      T* to = out + (y * w.out_w + x) * w.c;
      for (int64_t c = 0; c < w.c; ++c) to[c] = static_cast<T>(best[c]);
    }
  }
}

// `sums` holds the sample's gradient in fp32; `best` and `where` one entry a channel.
template <class T>
void scatter(const Window& w, const T* image, const T* dy, T* dx, float* sums, float* best,
             int64_t* where) {
  std::fill_n(sums, w.h * w.w * w.c, 0.0f);
  for (int64_t y = 0; y < w.out_h; ++y) {
    for (int64_t x = 0; x < w.out_w; ++x) {
      std::fill_n(where, w.c, int64_t{-1});
      for_pixels(w, y, x, [&](int64_t pixel) {
        const T* from = image + pixel * w.c;
        for (int64_t c = 0; c < w.c; ++c) {
          const float v = from[c];
          if (where[c] < 0 || v > best[c]) best[c] = v, where[c] = pixel;
        }
      });
      const T* from = dy + (y * w.out_w + x) * w.c;
      for (int64_t c = 0; c < w.c; ++c) {
        if (where[c] >= 0) sums[where[c] * w.c + c] += static_cast<float>(from[c]);
      }
    }
  }
  for (int64_t i = 0; i < w.h * w.w * w.c; ++i) dx[i] = static_cast<T>(sums[i]);
}

bool supported(const TensorType& type) {
  return type.dtype == DType::kF32 || type.dtype == DType::kBF16;
}

template <class T>
Kernel pool_kernel(const Window& w, bool is_max, int threads) {
  auto scratch = std::make_shared<std::vector<float>>(static_cast<size_t>(w.n * w.c));
  return [=](const KernelArgs& args) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t n = 0; n < w.n; ++n) {
      pool(w, is_max, args.in<T>(0) + n * w.h * w.w * w.c,
           args.out<T>(0) + n * w.out_h * w.out_w * w.c, scratch->data() + n * w.c);
    }
  };
}

template <class T>
Kernel scatter_kernel(const Window& w, int threads) {
  struct Scratch {
    std::vector<float> sums, best;
    std::vector<int64_t> where;
  };
  const int64_t team = std::min<int64_t>(threads, std::max<int64_t>(1, w.n)),
                pixels = w.h * w.w * w.c;
  auto scratch = std::make_shared<Scratch>();
  scratch->sums.resize(static_cast<size_t>(team * pixels));
  scratch->best.resize(static_cast<size_t>(team * w.c));
  scratch->where.resize(static_cast<size_t>(team * w.c));
  return [=](const KernelArgs& args) {
#pragma omp parallel for schedule(static, 1) num_threads(static_cast <int>(team))
    for (int64_t t = 0; t < team; ++t) {
      for (int64_t n = w.n * t / team; n < w.n * (t + 1) / team; ++n) {
        scatter(w, args.in<T>(0) + n * pixels, args.in<T>(1) + n * w.out_h * w.out_w * w.c,
                args.out<T>(0) + n * pixels, scratch->sums.data() + t * pixels,
                scratch->best.data() + t * w.c, scratch->where.data() + t * w.c);
      }
    }
  };
}

}  // namespace

Kernel make_reduce_window(const Node& node, const KernelContext& context) {
  if (!supported(node.types[0])) return {};
  Window w = window_of(node.attrs, node.inputs[0].shape(), node.types[0].shape);
  bool is_max = node.attrs.text("kind") == "max";
  return node.types[0].dtype == DType::kF32 ? pool_kernel<float>(w, is_max, context.threads)
                                            : pool_kernel<bf16>(w, is_max, context.threads);
}

Kernel make_select_and_scatter(const Node& node, const KernelContext& context) {
  if (!supported(node.types[0])) return {};
  Window w = window_of(node.attrs, node.inputs[0].shape(), node.inputs[1].shape());
  return node.types[0].dtype == DType::kF32 ? scatter_kernel<float>(w, context.threads)
                                            : scatter_kernel<bf16>(w, context.threads);
}

}  // namespace centavo::cpu
