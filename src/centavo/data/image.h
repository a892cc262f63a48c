// Images as bytes, and Picture: an image that is decoded only as far as it is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace centavo::data {

// Row-major, the channels of a pixel adjacent: [H, W, C], C = 1 (grey) or 3 (RGB).
struct Image {
  Image() = default;
  Image(int64_t h, int64_t w, int64_t c)
      : height(h), width(w), channels(c), pixels(static_cast<size_t>(h * w * c)) {}

  uint8_t* row(int64_t y) { return pixels.data() + y * width * channels; }
  const uint8_t* row(int64_t y) const { return pixels.data() + y * width * channels; }
  bool operator==(const Image&) const = default;

  int64_t height = 0, width = 0, channels = 0;
  std::vector<uint8_t> pixels;
};

// A rectangle of pixels.
struct Region {
  int64_t top = 0, left = 0, height = 0, width = 0;
  bool operator==(const Region&) const = default;
};

// An image that may still be compressed. Height, width and regions are those of the image as one
// looks at it: EXIF's orientation is already taken into account.
class Picture {
 public:
  virtual ~Picture() = default;
  virtual int64_t height() const = 0;
  virtual int64_t width() const = 0;

  // The pixels of `region`, which lies inside the picture. Grey becomes RGB or RGB grey (ITU-R 601
  // luma) as `channels` (1 or 3) demands, alpha is dropped. A decoder that can do so cheaply
  // returns the region at 1/reduce of its size (reduce = 1, 2, 4 or 8), its bounds rounded outwards
  // to whole pixels; others return it whole. Throws Error naming the picture if it is damaged.
  virtual Image decode(const Region& region, int64_t channels, int64_t reduce) const = 0;
  Image decode(int64_t channels) const { return decode({0, 0, height(), width()}, channels, 1); }
};

// A picture over an encoded image in memory: JPEG (grey, YCbCr, CMYK, YCCK; baseline or
// progressive), PNG (any depth, palette, alpha) or WebP (not animated), told apart by its first
// bytes. `bytes` must outlive the picture. Throws Error, naming `name`, for another format, a
// damaged header or more than 2^27 pixels.
std::unique_ptr<Picture> open_picture(std::span<const std::byte> bytes, std::string_view name);

// A grey (C = 1) or RGB image as a PNG file.
std::string encode_png(const Image& image);

// -- parts of decoders

// Cuts `region` out and converts the channels.
Image crop(const Image& image, const Region& region);
Image to_grey(const Image& rgb);
Image to_rgb(const Image& grey);
// The image with `channels` channels, converted if need be.
Image with_channels(Image image, int64_t channels);

// EXIF's orientation, 1 to 8: how the stored image is to be turned to be upright. 1 is "as it is".
using Orientation = int;
// Reads it from a TIFF structure (what follows "Exif\0\0"); 1 if there is none or it is damaged.
Orientation read_orientation(std::span<const std::byte> tiff);
// Turns a stored image upright.
Image upright(Image image, Orientation orientation);
// Where a region of the upright image lies in the stored one of this height and width.
Region stored_region(const Region& region, Orientation orientation, int64_t height, int64_t width);

}  // namespace centavo::data
