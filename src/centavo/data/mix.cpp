// Pairs of images from the batch's two ends, mixed in place.
#include "centavo/data/mix.h"

#include <algorithm>
#include <cmath>

#include "centavo/base/error.h"

namespace centavo::data {
namespace {

double uniform(Philox& rng) {
  return (rng.next_u32() + 0.5) * 0x1p-32;  // in (0, 1)
}

// Gamma(alpha, 1): Marsaglia and Tsang, "A simple method for generating gamma variables" (2000);
// below 1 through Gamma(alpha + 1) as in their section 6, in logarithms since it may be tiny.
double log_gamma_variate(Philox& rng, double alpha) {
  if (alpha < 1) {
    const double above = log_gamma_variate(rng, alpha + 1);
    return above + std::log(uniform(rng)) / alpha;
  }
  const double d = alpha - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = rng.next_normal(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(uniform(rng)) < 0.5 * x * x + d - d * v + d * std::log(v))
      return std::log(d) + std::log(v);
  }
}

// timm's rand_bbox: a box of 1 - share of the image, centred anywhere, cut at the borders.
Region draw_box(Philox& rng, double share, int64_t height, int64_t width) {
  const double side = std::sqrt(1 - share);
  const auto extent = [&](int64_t whole, int64_t& begin, int64_t& length) {
    const auto cut = static_cast<int64_t>(static_cast<double>(whole) * side);
    const auto centre = static_cast<int64_t>(rng.next_below(static_cast<uint64_t>(whole)));
    begin = std::clamp<int64_t>(centre - cut / 2, 0, whole);
    length = std::clamp<int64_t>(centre + cut / 2, 0, whole) - begin;
  };
  Region box;
  extent(height, box.top, box.height);
  extent(width, box.left, box.width);
  return box;
}

void check(const MixOptions& o) {
  for (double alpha : {o.mixup, o.cutmix}) {
    if (!(alpha >= 0 && alpha <= 1000))
      throw Error("mix", "mixup {} and cutmix {} have to be in 0..1000", o.mixup, o.cutmix);
  }
  for (double p : {o.prob, o.switch_prob}) {
    if (!(p >= 0 && p <= 1)) throw Error("mix", "{} is no probability", p);
  }
}

void blend(float* a, float* b, int64_t count, float share) {
  for (int64_t i = 0; i < count; ++i) {
    const float x = a[i], y = b[i];
    a[i] = share * x + (1 - share) * y;
    b[i] = share * y + (1 - share) * x;
  }
}

}  // namespace

double draw_beta(Philox& rng, double alpha) {
  const double a = log_gamma_variate(rng, alpha), b = log_gamma_variate(rng, alpha);
  return 1 / (1 + std::exp(b - a));
}

Mix draw_mix(const MixOptions& options, uint64_t seed, int64_t epoch, int64_t batch, int64_t height,
             int64_t width) {
  check(options);
  constexpr uint64_t kDomain = 0x6d69786d6978u;  // apart from other uses of the seed
  Philox rng(seed ^ kDomain, static_cast<uint64_t>(epoch) << 40 ^ static_cast<uint64_t>(batch));
  if (!options.enabled() || uniform(rng) >= options.prob) return {};
  const bool cut = options.cutmix > 0 && (options.mixup == 0 || uniform(rng) < options.switch_prob);
  Mix mix;
  mix.share = draw_beta(rng, cut ? options.cutmix : options.mixup);
  if (!cut) return mix;
  mix.box = draw_box(rng, mix.share, height, width);
  mix.share =
      1 - static_cast<double>(mix.box.height * mix.box.width) / static_cast<double>(height * width);
  return mix;
}

void mix_images(std::span<float> images, const Shape& shape, const Mix& mix) {
  if (mix.share == 1) return;
  const int64_t n = shape[0], channels = shape[1], height = shape[2], width = shape[3];
  const int64_t elements = channels * height * width;
  const Region& box = mix.box;
  for (int64_t i = 0; i < n / 2; ++i) {
    float *a = images.data() + i * elements, *b = images.data() + (n - 1 - i) * elements;
    if (box.height == 0) {
      blend(a, b, elements, static_cast<float>(mix.share));
      continue;
    }
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t y = box.top; y < box.top + box.height; ++y) {
        const int64_t at = (c * height + y) * width + box.left;
        std::swap_ranges(a + at, a + at + box.width, b + at);
      }
    }
  }
}

void mix_targets(std::span<int32_t> targets, const Mix& mix) {
  const size_t n = targets.size() / kMixRows;
  const auto classes = targets.first(n);
  std::ranges::reverse_copy(classes, targets.begin() + static_cast<int64_t>(n));
  std::ranges::fill(targets.subspan(2 * n),
                    static_cast<int32_t>(std::lround(mix.share / kMixUnit)));
}

}  // namespace centavo::data
