// Random erasing (Zhong et al., arXiv 1708.04896) on a normalised image, as timm does it.
#pragma once

#include <span>

#include "centavo/base/shape.h"
#include "centavo/data/rng.h"

namespace centavo::data {

enum class EraseMode {
  kConst,
  kRand,
  kPixel
};  // zeros, one normal colour a rectangle, normal noise

// Overwrites 1 to `count` rectangles of a [C,H,W] image: together 2 to 33 % of it, of aspect 0.3
// to 3.3.
void erase_rectangles(std::span<float> image, const Shape& shape, EraseMode mode, int64_t count,
                      SampleRng& rng);

}  // namespace centavo::data
