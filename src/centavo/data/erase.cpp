// Where the rectangles lie and what is put there.
#include "centavo/data/erase.h"

#include <cmath>
#include <vector>

#include "centavo/data/normal.h"

namespace centavo::data {
namespace {

struct Box {
  int64_t top, left, height, width;
};

void fill_box(std::span<float> image, const Shape& shape, const Box& box, EraseMode mode,
              SampleRng& rng) {
  const int64_t height = shape[1], width = shape[2];
  std::vector<float> noise;
  if (mode == EraseMode::kPixel) {
    noise.resize(static_cast<size_t>(shape[0] * box.height * box.width));
    fill_normal(std::span(noise), rng.word(), 0);
  }
  const float* next = noise.data();
  for (int64_t c = 0; c < shape[0]; ++c) {
    const float color = mode == EraseMode::kRand ? static_cast<float>(rng.normal()) : 0.0f;
    for (int64_t y = 0; y < box.height; ++y) {
      float* row = image.data() + (c * height + box.top + y) * width + box.left;
      if (mode == EraseMode::kPixel) {
        std::copy_n(next, box.width, row);
        next += box.width;
      } else {
        std::fill_n(row, box.width, color);
      }
    }
  }
}

}  // namespace

void erase_rectangles(std::span<float> image, const Shape& shape, EraseMode mode, int64_t count,
                      SampleRng& rng) {
  constexpr double kMinArea = 0.02, kMaxArea = 1.0 / 3, kMinAspect = 0.3;
  const int64_t height = shape[1], width = shape[2], rectangles = 1 + rng.below(count);
  for (int64_t i = 0; i < rectangles; ++i) {
    for (int attempt = 0; attempt < 10; ++attempt) {
      const double area = rng.uniform(kMinArea, kMaxArea) * static_cast<double>(height * width) /
                          static_cast<double>(rectangles);
      const double aspect = std::exp(rng.uniform(std::log(kMinAspect), -std::log(kMinAspect)));
      const auto h = static_cast<int64_t>(std::round(std::sqrt(area * aspect)));
      const auto w = static_cast<int64_t>(std::round(std::sqrt(area / aspect)));
      if (h >= height || w >= width) continue;
      fill_box(image, shape, {rng.below(height - h + 1), rng.below(width - w + 1), h, w}, mode,
               rng);
      break;
    }
  }
}

}  // namespace centavo::data
