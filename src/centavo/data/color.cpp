// Tables for what treats a value alone, blends for the rest.
#include "centavo/data/color.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace centavo::data {
namespace {

using Table = std::array<uint8_t, 256>;

template <class F>
Table table_of(F f) {
  Table table;
  for (int x = 0; x < 256; ++x)
    table[static_cast<size_t>(x)] = static_cast<uint8_t>(std::clamp<int>(f(x), 0, 255));
  return table;
}

void apply_table(Image& image, const Table& table) {
  for (uint8_t& p : image.pixels) p = table[p];
}

// Each channel through a table of its own, made from its histogram.
template <class F>
void apply_by_histogram(Image& image, F table_from) {
  const auto channels = static_cast<size_t>(image.channels);
  for (size_t c = 0; c < channels; ++c) {
    std::array<int64_t, 256> histogram{};
    for (size_t i = c; i < image.pixels.size(); i += channels) ++histogram[image.pixels[i]];
    const Table table = table_from(histogram);
    for (size_t i = c; i < image.pixels.size(); i += channels)
      image.pixels[i] = table[image.pixels[i]];
  }
}

// PIL's Image.blend: from `other` (factor 0) to `value` (factor 1), truncated.
uint8_t blend(int other, int value, float factor) {
  const float x = static_cast<float>(other) + factor * static_cast<float>(value - other);
  return static_cast<uint8_t>(std::clamp(x, 0.0f, 255.0f));
}

void blend_with(Image& image, const Image& other, double factor) {
  const auto f = static_cast<float>(factor);
  for (size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = blend(other.pixels[i], image.pixels[i], f);
}

// PIL's ImageFilter.SMOOTH: the 3x3 mean with a weight of 5 in the middle; the border stays.
Image smoothed(const Image& image) {
  constexpr float kEdge = 1.0f / 13, kMiddle = 5.0f / 13;
  Image out = image;
  const int64_t c = image.channels;
  for (int64_t y = 1; y + 1 < image.height; ++y) {
    const uint8_t *above = image.row(y - 1), *here = image.row(y), *below = image.row(y + 1);
    uint8_t* to = out.row(y);
    for (int64_t i = c; i < (image.width - 1) * c; ++i) {
      const int ring = above[i - c] + above[i] + above[i + c] + here[i - c] + here[i + c] +
                       below[i - c] + below[i] + below[i + c];
      to[i] = static_cast<uint8_t>(static_cast<float>(ring) * kEdge + here[i] * kMiddle + 0.5f);
    }
  }
  return out;
}

}  // namespace

void adjust_brightness(Image& image, double factor) {
  const auto f = static_cast<float>(factor);
  apply_table(image, table_of([&](int x) { return blend(0, x, f); }));
}

void adjust_contrast(Image& image, double factor) {
  const Image* grey = &image;
  Image converted;
  if (image.channels == 3) grey = &(converted = to_grey(image));
  int64_t sum = 0;
  for (uint8_t p : grey->pixels) sum += p;
  const int mean =
      static_cast<int>(static_cast<double>(sum) / static_cast<double>(grey->pixels.size()) + 0.5);
  const auto f = static_cast<float>(factor);
  apply_table(image, table_of([&](int x) { return blend(mean, x, f); }));
}

void adjust_color(Image& image, double factor) {
  if (image.channels == 1) return;
  blend_with(image, to_rgb(to_grey(image)), factor);
}

void adjust_sharpness(Image& image, double factor) {
  blend_with(image, smoothed(image), factor);
}

void auto_contrast(Image& image) {
  apply_by_histogram(image, [](const auto& histogram) {
    int low = 0, high = 255;
    while (low < 255 && histogram[static_cast<size_t>(low)] == 0) ++low;
    while (high > 0 && histogram[static_cast<size_t>(high)] == 0) --high;
    if (high <= low) return table_of([](int x) { return x; });
    const double scale = 255.0 / (high - low), offset = -low * scale;
    return table_of([&](int x) { return static_cast<int>(x * scale + offset); });
  });
}

void equalize(Image& image) {
  apply_by_histogram(image, [](const auto& histogram) {
    int64_t total = 0, last = 0;
    for (int64_t n : histogram) {
      total += n;
      if (n != 0) last = n;
    }
    const int64_t step = (total - last) / 255;
    if (step == 0) return table_of([](int x) { return x; });
    int64_t before = step / 2;
    Table table;
    for (size_t x = 0; x < 256; ++x) {
      table[x] = static_cast<uint8_t>(std::min<int64_t>(before / step, 255));
      before += histogram[x];
    }
    return table;
  });
}

void invert(Image& image) {
  apply_table(image, table_of([](int x) { return 255 - x; }));
}

void posterize(Image& image, int bits) {
  const int mask = 0xff << (8 - bits);
  apply_table(image, table_of([&](int x) { return x & mask & 0xff; }));
}

void solarize(Image& image, int threshold) {
  apply_table(image, table_of([&](int x) { return x < threshold ? x : 255 - x; }));
}

void solarize_add(Image& image, int addition) {
  apply_table(image, table_of([&](int x) { return x < 128 ? x + addition : x; }));
}

}  // namespace centavo::data
