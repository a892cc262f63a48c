// Moving the pixels of an image: flips, and affine maps as PIL's Image.transform computes them.
#pragma once

#include <array>

#include "centavo/data/image.h"
#include "centavo/data/resize.h"

namespace centavo::data {

void flip_horizontally(Image& image);
void flip_vertically(Image& image);

using Color = std::array<uint8_t, 3>;

// Pixel (x, y) of the result, counted from its corner, is the input's at (a x + b y + c, d x + e y
// + f) for map = {a, b, c, d, e, f}, or `fill` where that lies outside.
Image affine(const Image& image, const std::array<double, 6>& map, Filter filter,
             const Color& fill);
// Counter-clockwise about the centre.
Image rotate(const Image& image, double degrees, Filter filter, const Color& fill);

}  // namespace centavo::data
