// Two passes in fixed point: weights of 22 fractional bits, bytes in between, as Pillow's
// Resample.c has it.
#include "centavo/data/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "centavo/base/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "centavo/data/resize.cpp"
#include <hwy/foreach_target.h>  // includes this file again for every target
#include <hwy/highway.h>

#ifndef CENTAVO_DATA_RESIZE_ONCE
#define CENTAVO_DATA_RESIZE_ONCE
namespace centavo::data {

constexpr int kFractionBits = 22;
constexpr int32_t kHalf = 1 << (kFractionBits - 1);
constexpr int64_t kSlack = 64;  // what vectors may read or write behind a row

// Which inputs make output i, and their weights.
struct Taps {
  struct Span {
    int64_t first, count;
    const int32_t* weights;
  };
  Span operator[](int64_t i) const {
    return {first[static_cast<size_t>(i)], count[static_cast<size_t>(i)],
            weights.data() + i * stride};
  }
  int64_t stride = 0;
  std::vector<int64_t> first, count;
  std::vector<int32_t> weights;
};

}  // namespace centavo::data
#endif

HWY_BEFORE_NAMESPACE();
namespace centavo::data::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One row of RGB: a pixel and a stranger's byte are a vector of four. Loops of four, which the
// compiler turns into vectors, since Highway's scalar target has none of that length.
void columns_rgb(const uint8_t* in, int64_t width, const Taps& taps, int64_t first, int64_t count,
                 int32_t* scratch, uint8_t* out) {
  for (int64_t i = 0; i < 3 * width; ++i) scratch[i] = in[i];
  for (int64_t x = 0; x < count; ++x, out += 3) {
    const Taps::Span span = taps[first + x];
    const int32_t* pixel = scratch + 3 * span.first;
    int32_t sum[4] = {kHalf, kHalf, kHalf, kHalf};
    for (int64_t t = 0; t < span.count; ++t, pixel += 3) {
      for (int c = 0; c < 4; ++c) sum[c] += pixel[c] * span.weights[t];
    }
    for (int c = 0; c < 4; ++c)
      out[c] = static_cast<uint8_t>(std::clamp(sum[c] >> kFractionBits, 0, 255));
  }
}

// One output row from the `span.count` rows at `in`, `stride` apart.
void rows(const uint8_t* in, int64_t stride, Taps::Span span, int64_t bytes, uint8_t* out) {
  const hn::CappedTag<int32_t, 16> d;
  const hn::Rebind<uint8_t, decltype(d)> d8;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t x = 0; x < bytes; x += lanes) {
    auto sum = hn::Set(d, kHalf);
    for (int64_t t = 0; t < span.count; ++t) {
      const auto pixels = hn::PromoteTo(d, hn::LoadU(d8, in + t * stride + x));
      sum = hn::Add(sum, hn::Mul(pixels, hn::Set(d, span.weights[t])));
    }
    hn::StoreU(hn::DemoteTo(d8, hn::ShiftRight<kFractionBits>(sum)), d8, out + x);
  }
}

}  // namespace centavo::data::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace centavo::data {

HWY_EXPORT(columns_rgb);
HWY_EXPORT(rows);

namespace {

double support_of(Filter filter) {
  return filter == Filter::kBilinear ? 1 : 2;
}

double weight_of(Filter filter, double x) {
  x = std::abs(x);
  if (filter == Filter::kBilinear) return std::max(0.0, 1 - x);
  constexpr double a = -0.5;
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

Taps taps_of(Filter filter, int64_t in, int64_t out) {
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double widening = std::max(scale, 1.0), support = support_of(filter) * widening;
  Taps taps;
  taps.stride = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
  taps.weights.resize(static_cast<size_t>(taps.stride * out));
  std::vector<double> w(static_cast<size_t>(taps.stride));
  for (int64_t i = 0; i < out; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const int64_t begin = std::max<int64_t>(static_cast<int64_t>(centre - support + 0.5), 0);
    const int64_t end = std::min(static_cast<int64_t>(centre + support + 0.5), in);
    double sum = 0;
    for (int64_t j = begin; j < end; ++j) {
      const double x = (static_cast<double>(j) - centre + 0.5) * (1 / widening);
      sum += w[static_cast<size_t>(j - begin)] = weight_of(filter, x);
    }
    for (int64_t t = 0; t < end - begin; ++t) {
      const double fixed = w[static_cast<size_t>(t)] / sum * (1 << kFractionBits);
      taps.weights[static_cast<size_t>(i * taps.stride + t)] =
          static_cast<int32_t>(fixed + (fixed < 0 ? -0.5 : 0.5));
    }
    taps.first.push_back(begin);
    taps.count.push_back(end - begin);
  }
  return taps;
}

void columns_grey(const uint8_t* in, const Taps& taps, int64_t first, int64_t count, uint8_t* out) {
  for (int64_t x = 0; x < count; ++x) {
    const Taps::Span span = taps[first + x];
    int32_t sum = kHalf;
    for (int64_t t = 0; t < span.count; ++t) sum += in[span.first + t] * span.weights[t];
    out[x] = static_cast<uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
  }
}

}  // namespace

Image resize(const Image& image, int64_t height, int64_t width, Filter filter,
             const Region& window) {
  CENTAVO_CHECK(window.top >= 0 && window.left >= 0 && window.top + window.height <= height &&
                window.left + window.width <= width);
  const Taps columns = taps_of(filter, image.width, width),
             lines = taps_of(filter, image.height, height);
  const int64_t channels = image.channels, bytes = window.width * channels, stride = bytes + kSlack;
  // The input rows that the window's rows are made of; bounds grow with the row.
  const int64_t first = lines[window.top].first;
  const Taps::Span last = lines[window.top + window.height - 1];
  const int64_t count = last.first + last.count - first;

  std::vector<uint8_t> between(static_cast<size_t>(count * stride));
  std::vector<int32_t> scratch(static_cast<size_t>(image.width * channels + kSlack));
  for (int64_t y = 0; y < count; ++y) {
    uint8_t* out = between.data() + y * stride;
    if (width == image.width) {
      std::memcpy(out, image.row(first + y) + window.left * channels, static_cast<size_t>(bytes));
    } else if (channels == 3) {
      HWY_DYNAMIC_DISPATCH(columns_rgb)
      (image.row(first + y), image.width, columns, window.left, window.width, scratch.data(), out);
    } else {
      columns_grey(image.row(first + y), columns, window.left, window.width, out);
    }
  }
  Image result(window.height, window.width, channels);
  std::vector<uint8_t> line(static_cast<size_t>(stride));
  for (int64_t y = 0; y < window.height; ++y) {
    const Taps::Span span = lines[window.top + y];
    HWY_DYNAMIC_DISPATCH(rows)
    (between.data() + (span.first - first) * stride, stride, span, bytes, line.data());
    std::memcpy(result.row(y), line.data(), static_cast<size_t>(bytes));
  }
  return result;
}

}  // namespace centavo::data
#endif
