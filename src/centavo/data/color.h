// Changes of colour, in place: the numbers are those of PIL's ImageOps and ImageEnhance.
#pragma once

#include "centavo/data/image.h"

namespace centavo::data {

// ImageEnhance: 0 is the degenerate image (black, mean grey, grey, smoothed), 1 the image itself,
// more exaggerates.
void adjust_brightness(Image& image, double factor);
void adjust_contrast(Image& image, double factor);
void adjust_color(Image& image, double factor);  // saturation
void adjust_sharpness(Image& image, double factor);

// ImageOps.
void auto_contrast(Image& image);  // stretches each channel to 0..255
void equalize(Image& image);       // flattens each channel's histogram
void invert(Image& image);
void posterize(Image& image, int bits);      // keeps the highest bits, 0 to 8
void solarize(Image& image, int threshold);  // inverts from the threshold on
// Adds to what lies below 128 (timm's solarize_add).
void solarize_add(Image& image, int addition);

}  // namespace centavo::data
