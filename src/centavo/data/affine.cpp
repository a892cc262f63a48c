// Bilinear and bicubic sampling as Pillow's Geometry.c has it, quirks included: values are
// truncated, not rounded, and the cubic is Keys's with a = -1.
#include "centavo/data/affine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

namespace centavo::data {
namespace {

double linear(double a, double b, double t) {
  return a + (b - a) * t;
}

double cubic(const double (&v)[4], double t) {
  const double p2 = -v[0] + v[2], p3 = 2 * (v[0] - v[1]) + v[2] - v[3],
               p4 = -v[0] + v[1] - v[2] + v[3];
  return v[1] + t * (p2 + t * (p3 + t * p4));
}

// Samples one channel of an image at a point; columns outside it repeat the border's.
template <int64_t kTaps>
class Sampler {
 public:
  // `x`, `y` within the image.
  Sampler(const Image& image, double x, double y) : image_(image) {
    const double left = std::floor(x - 0.5), top = std::floor(y - 0.5);
    dx_ = x - 0.5 - left;
    dy_ = y - 0.5 - top;
    top_ = static_cast<int64_t>(top) - (kTaps / 2 - 1);
    for (int64_t i = 0; i < kTaps; ++i) {
      const int64_t column = static_cast<int64_t>(left) - (kTaps / 2 - 1) + i;
      columns_[i] = std::clamp<int64_t>(column, 0, image.width - 1) * image.channels;
    }
  }

  uint8_t operator()(int64_t channel) const {
    double line[kTaps];
    for (int64_t i = 0; i < kTaps; ++i) {
      const int64_t y = top_ + i;
      // A row outside the image is the one before it; the first is the border's.
      if (i > 0 && (y < 0 || y >= image_.height)) {
        line[i] = line[i - 1];
        continue;
      }
      const uint8_t* row = image_.row(std::clamp<int64_t>(y, 0, image_.height - 1)) + channel;
      double v[kTaps];
      for (int64_t j = 0; j < kTaps; ++j) v[j] = row[columns_[j]];
      line[i] = interpolate(v, dx_);
    }
    return static_cast<uint8_t>(std::clamp(interpolate(line, dy_), 0.0, 255.0));
  }

 private:
  static double interpolate(const double (&v)[kTaps], double t) {
    if constexpr (kTaps == 2) {
      return linear(v[0], v[1], t);
    } else {
      return cubic(v, t);
    }
  }

  const Image& image_;
  double dx_, dy_;
  int64_t top_, columns_[kTaps];
};

template <int64_t kTaps>
Image transform(const Image& image, const std::array<double, 6>& map, const Color& fill) {
  Image out(image.height, image.width, image.channels);
  for (int64_t y = 0; y < out.height; ++y) {
    uint8_t* to = out.row(y);
    for (int64_t x = 0; x < out.width; ++x, to += out.channels) {
      const double px = static_cast<double>(x) + 0.5, py = static_cast<double>(y) + 0.5;
      const double u = map[0] * px + map[1] * py + map[2], v = map[3] * px + map[4] * py + map[5];
      if (u < 0 || u >= static_cast<double>(image.width) || v < 0 ||
          v >= static_cast<double>(image.height)) {
        std::copy_n(fill.data(), out.channels, to);
        continue;
      }
      const Sampler<kTaps> sample(image, u, v);
      for (int64_t c = 0; c < out.channels; ++c) to[c] = sample(c);
    }
  }
  return out;
}

}  // namespace

void flip_horizontally(Image& image) {
  for (int64_t y = 0; y < image.height; ++y) {
    uint8_t* row = image.row(y);
    const int64_t c = image.channels;
    for (int64_t left = 0, right = image.width - 1; left < right; ++left, --right)
      std::swap_ranges(row + left * c, row + (left + 1) * c, row + right * c);
  }
}

void flip_vertically(Image& image) {
  for (int64_t top = 0, bottom = image.height - 1; top < bottom; ++top, --bottom)
    std::swap_ranges(image.row(top), image.row(top + 1), image.row(bottom));
}

Image affine(const Image& image, const std::array<double, 6>& map, Filter filter,
             const Color& fill) {
  return filter == Filter::kBilinear ? transform<2>(image, map, fill)
                                     : transform<4>(image, map, fill);
}

Image rotate(const Image& image, double degrees, Filter filter, const Color& fill) {
  if (degrees == 0) return image;
  // PIL's order of operations and its rounding: a last bit decides how a sum is truncated.
  const auto rounded = [](double v) { return std::round(v * 1e15) / 1e15; };
  const double angle = -(degrees * std::numbers::pi / 180);
  const double c = rounded(std::cos(angle)), s = rounded(std::sin(angle));
  const double x = static_cast<double>(image.width) / 2, y = static_cast<double>(image.height) / 2;
  return affine(image, {c, s, c * -x + s * -y + x, -s, c, -s * -x + c * -y + y}, filter, fill);
}

}  // namespace centavo::data
