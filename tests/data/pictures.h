// Pictures for tests: smooth random images, and JPEG files of them.
#pragma once

#include <cmath>
#include <cstdio>  // jpeglib.h needs it first
#include <cstdlib>
#include <jpeglib.h>
#include <vector>

#include "centavo/base/philox.h"
#include "centavo/data/image.h"

namespace centavo::data {

inline Image random_image(int64_t height, int64_t width, int64_t channels, Philox& rng) {
  Image image(height, width, channels);
  const double fx = 0.02 + 0.1 * rng.next_uniform(), fy = 0.02 + 0.1 * rng.next_uniform();
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width * channels; ++x) {
      const double wave =
          std::sin(fx * static_cast<double>(x)) * std::cos(fy * static_cast<double>(y));
      image.row(y)[x] = static_cast<uint8_t>(120 + 100 * wave + 30 * rng.next_uniform());
    }
  }
  return image;
}

inline std::vector<std::byte> encode_jpeg(const Image& image, bool progressive = false) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &data, &size);
  info.image_height = static_cast<JDIMENSION>(image.height);
  info.image_width = static_cast<JDIMENSION>(image.width);
  info.input_components = static_cast<int>(image.channels);
  info.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  if (progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  for (int64_t y = 0; y < image.height; ++y) {
    auto* row = const_cast<uint8_t*>(image.row(y));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> file(bytes, bytes + size);
  std::free(data);
  return file;
}

}  // namespace centavo::data
