// The tables.
#include "centavo/data/normalize.h"

#include "centavo/base/error.h"

namespace centavo::data {
namespace {

// timm's IMAGENET_DEFAULT_MEAN and IMAGENET_DEFAULT_STD.
constexpr std::array<float, 3> kImageNetMean = {0.485f, 0.456f, 0.406f};
constexpr std::array<float, 3> kImageNetStd = {0.229f, 0.224f, 0.225f};

float value_for(std::span<const float> values, const std::array<float, 3>& rgb, int64_t channel,
                int64_t channels, const char* what) {
  if (values.empty()) return channels == 3 ? rgb[static_cast<size_t>(channel)] : 0.5f;
  if (values.size() == 1) return values[0];
  if (values.size() != static_cast<size_t>(channels))
    throw Error("dataset", "{} values of {} for {} channels; give one a channel or one for all",
                values.size(), what, channels);
  return values[static_cast<size_t>(channel)];
}

}  // namespace

Normalizer::Normalizer(int64_t channels, std::span<const float> mean, std::span<const float> stddev)
    : tables_(static_cast<size_t>(channels)) {
  for (int64_t c = 0; c < channels; ++c) {
    const float m = value_for(mean, kImageNetMean, c, channels, "mean");
    const float s = value_for(stddev, kImageNetStd, c, channels, "std");
    mean_.push_back(m);
    if (!(s > 0)) throw Error("dataset", "std {} is not positive", s);
    auto& table = tables_[static_cast<size_t>(c)];
    for (size_t x = 0; x < table.size(); ++x) table[x] = (static_cast<float>(x) / 255 - m) / s;
  }
}

void Normalizer::operator()(const Image& image, float* out) const {
  const size_t channels = tables_.size(), pixels = image.pixels.size() / channels;
  CENTAVO_CHECK(static_cast<size_t>(image.channels) == channels);
  for (size_t c = 0; c < channels; ++c, out += pixels) {
    const uint8_t* p = image.pixels.data() + c;
    for (size_t i = 0; i < pixels; ++i, p += channels) out[i] = tables_[c][*p];
  }
}

}  // namespace centavo::data
