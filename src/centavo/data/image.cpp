// Cutting, converting and turning images.
#include "centavo/data/image.h"

#include <cstring>
#include <utility>

#include "centavo/base/error.h"

namespace centavo::data {

Image crop(const Image& image, const Region& region) {
  CENTAVO_CHECK(region.top >= 0 && region.left >= 0 && region.top + region.height <= image.height &&
                region.left + region.width <= image.width);
  Image out(region.height, region.width, image.channels);
  const auto bytes = static_cast<size_t>(region.width * image.channels);
  for (int64_t y = 0; y < region.height; ++y)
    std::memcpy(out.row(y), image.row(region.top + y) + region.left * image.channels, bytes);
  return out;
}

Image to_grey(const Image& rgb) {
  Image out(rgb.height, rgb.width, 1);
  const uint8_t* p = rgb.pixels.data();
  // ITU-R 601 luma in 16-bit fixed point, rounded: what PIL's convert("L") computes.
  for (uint8_t& grey : out.pixels) {
    grey = static_cast<uint8_t>((p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 0x8000u) >> 16);
    p += 3;
  }
  return out;
}

Image to_rgb(const Image& grey) {
  Image out(grey.height, grey.width, 3);
  uint8_t* p = out.pixels.data();
  for (uint8_t x : grey.pixels) {
    p[0] = p[1] = p[2] = x;
    p += 3;
  }
  return out;
}

Image with_channels(Image image, int64_t channels) {
  if (image.channels == channels) return image;
  return channels == 1 ? to_grey(image) : to_rgb(image);
}

namespace {

// An orientation is a transposition (or none) followed by flips of the result.
struct Turn {
  bool transpose, flip_rows, flip_columns;
};
constexpr Turn kTurns[8] = {{false, false, false}, {false, false, true}, {false, true, true},
                            {false, true, false},  {true, false, false}, {true, false, true},
                            {true, true, true},    {true, true, false}};

}  // namespace

Image upright(Image image, Orientation orientation) {
  if (orientation == 1) return image;
  const Turn turn = kTurns[orientation - 1];
  Image out(turn.transpose ? image.width : image.height,
            turn.transpose ? image.height : image.width, image.channels);
  for (int64_t y = 0; y < out.height; ++y) {
    const int64_t row = turn.flip_rows ? out.height - 1 - y : y;
    for (int64_t x = 0; x < out.width; ++x) {
      const int64_t column = turn.flip_columns ? out.width - 1 - x : x;
      const uint8_t* from = turn.transpose ? image.row(column) + row * image.channels
                                           : image.row(row) + column * image.channels;
      std::memcpy(out.row(y) + x * image.channels, from, static_cast<size_t>(image.channels));
    }
  }
  return out;
}

Region stored_region(const Region& region, Orientation orientation, int64_t height, int64_t width) {
  const Turn turn = kTurns[orientation - 1];
  if (turn.transpose) std::swap(height, width);  // now the upright image's
  Region r = region;
  if (turn.flip_rows) r.top = height - r.top - r.height;
  if (turn.flip_columns) r.left = width - r.left - r.width;
  return turn.transpose ? Region{r.left, r.top, r.width, r.height} : r;
}

Orientation read_orientation(std::span<const std::byte> tiff) {
  const auto byte = [&](size_t at) { return std::to_integer<uint32_t>(tiff[at]); };
  if (tiff.size() < 8) return 1;
  const bool little = byte(0) == 'I';
  if ((byte(0) != 'I' && byte(0) != 'M') || byte(1) != byte(0)) return 1;
  const auto u16 = [&](size_t at) {
    return little ? byte(at + 1) << 8 | byte(at) : byte(at) << 8 | byte(at + 1);
  };
  const auto u32 = [&](size_t at) {
    return little ? u16(at + 2) << 16 | u16(at) : u16(at) << 16 | u16(at + 2);
  };
  if (u16(2) != 42) return 1;
  // Image file directory 0: a count, then entries of 12 bytes: tag, type, count, value.
  constexpr uint32_t kOrientationTag = 0x0112, kShort = 3;
  const size_t directory = u32(4);
  if (directory > tiff.size() - 2) return 1;
  const size_t entries = u16(directory);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + 12 * i;
    if (entry + 12 > tiff.size()) return 1;
    if (u16(entry) != kOrientationTag) continue;
    const uint32_t value = u16(entry + 8);
    return u16(entry + 2) == kShort && value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace centavo::data
