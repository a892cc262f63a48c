// Bytes to floats: (x / 255 - mean) / stddev, channel by channel, through a table of the 256
// answers.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace centavo::data {

class Normalizer {
 public:
  // `mean` and `stddev`: one value a channel, or one for all, or none for 0.5. Throws Error on
  // another count, or on a deviation that is not positive.
  Normalizer(int64_t channels, std::span<const float> mean, std::span<const float> stddev);

  // Converts one plane of channel `channel`.
  void operator()(std::span<const uint8_t> pixels, int64_t channel, float* out) const;

 private:
  std::vector<std::array<float, 256>> tables_;
};

}  // namespace centavo::data
