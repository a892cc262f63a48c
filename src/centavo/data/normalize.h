// Bytes to floats: (x / 255 - mean) / stddev, channel by channel, through a table of the 256
// answers.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "centavo/data/image.h"

namespace centavo::data {

class Normalizer {
 public:
  // `mean` and `stddev`: one value a channel, or one for all, or none for the defaults: ImageNet's
  // for three channels, 0.5 for another number. Throws Error on another count, or on a deviation
  // that is not positive.
  Normalizer(int64_t channels, std::span<const float> mean, std::span<const float> stddev);

  // From [H,W,C] to [C,H,W].
  void operator()(const Image& image, float* out) const;
  float mean(int64_t channel) const { return mean_[static_cast<size_t>(channel)]; }

 private:
  std::vector<float> mean_;
  std::vector<std::array<float, 256>> tables_;
};

}  // namespace centavo::data
