// Resizing with antialiasing: the numbers are those of PIL's Image.resize, to the bit.
#pragma once

#include "centavo/data/image.h"

namespace centavo::data {

enum class Filter { kBilinear, kBicubic };

// The part `window` of `image` resized to height x width. A triangle (bilinear) or Keys's cubic
// with a = -1/2 (bicubic), widened by the scale when shrinking, is applied to the columns first and
// then to the rows.
Image resize(const Image& image, int64_t height, int64_t width, Filter filter,
             const Region& window);
inline Image resize(const Image& image, int64_t height, int64_t width, Filter filter) {
  return resize(image, height, width, filter, {0, 0, height, width});
}

}  // namespace centavo::data
