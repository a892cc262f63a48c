// The operations and what a magnitude means to each (timm's auto_augment.py, read 2026).
#include "centavo/data/rand_augment.h"

#include <charconv>
#include <cmath>
#include <string>

#include "centavo/base/error.h"
#include "centavo/base/text.h"
#include "centavo/data/color.h"

namespace centavo::data {
namespace {

struct Draw {
  Image& image;
  double level;  // magnitude / 10
  bool increasing;
  SampleRng& rng;
  const Color& fill;
  Filter filter;

  double signed_level(double scale) const { return rng.signed_randomly(level * scale); }
  // 0.1 to 1.9, or as far from 1 as the level says.
  double factor() const {
    return increasing ? std::max(0.1, 1 + signed_level(0.9)) : level * 1.8 + 0.1;
  }
  void map(const std::array<double, 6>& m) const { image = affine(image, m, filter, fill); }
};

double width(const Draw& d) {
  return static_cast<double>(d.image.width);
}
double height(const Draw& d) {
  return static_cast<double>(d.image.height);
}

constexpr double kMaxShift = 0.45;  // of the image's extent

using Operation = void (*)(const Draw&);
constexpr Operation kOperations[] = {
    [](const Draw& d) { auto_contrast(d.image); },
    [](const Draw& d) { equalize(d.image); },
    [](const Draw& d) { invert(d.image); },
    [](const Draw& d) { d.image = rotate(d.image, d.signed_level(30), d.filter, d.fill); },
    [](const Draw& d) {
      const int bits = static_cast<int>(d.level * 4);
      posterize(d.image, d.increasing ? 4 - bits : bits);
    },
    [](const Draw& d) {
      const int threshold = static_cast<int>(d.level * 256);
      solarize(d.image, d.increasing ? 256 - threshold : threshold);
    },
    [](const Draw& d) { solarize_add(d.image, static_cast<int>(d.level * 110)); },
    [](const Draw& d) { adjust_color(d.image, d.factor()); },
    [](const Draw& d) { adjust_contrast(d.image, d.factor()); },
    [](const Draw& d) { adjust_brightness(d.image, d.factor()); },
    [](const Draw& d) { adjust_sharpness(d.image, d.factor()); },
    [](const Draw& d) {
      d.map({1, d.signed_level(0.3), 0, 0, 1, 0});
    },
    [](const Draw& d) {
      d.map({1, 0, 0, d.signed_level(0.3), 1, 0});
    },
    [](const Draw& d) {
      d.map({1, 0, d.signed_level(kMaxShift) * width(d), 0, 1, 0});
    },
    [](const Draw& d) {
      d.map({1, 0, 0, 0, 1, d.signed_level(kMaxShift) * height(d)});
    },
};

}  // namespace

RandAugment::RandAugment(std::string_view policy) {
  const std::vector<std::string> parts = split(policy, '-');
  if (parts.empty() || parts[0] != "rand") {
    throw Error("aa", "'{}' does not begin with 'rand'; write for instance rand-m9-mstd0.5-inc1",
                policy);
  }
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t digit = std::min(parts[i].find_first_of("0123456789"), parts[i].size());
    const std::string key = parts[i].substr(0, digit);
    const char *begin = parts[i].data() + digit, *end = parts[i].data() + parts[i].size();
    double value = 0;
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (error != std::errc() || stop != end)
      throw Error("aa", "'{}' in '{}' has no number", parts[i], policy);
    if (key == "m") {
      magnitude_ = value;
    } else if (key == "n") {
      operations_ = static_cast<int>(std::min(value, 100.0));
    } else if (key == "mstd") {
      deviation_ = value;
    } else if (key == "mmax") {
      max_ = value;
    } else if (key == "inc") {
      increasing_ = value != 0;
    } else {
      throw Error("aa", "unknown part '{}' in '{}'; there are m, n, mstd, mmax and inc", parts[i],
                  policy);
    }
  }
}

void RandAugment::operator()(Image& image, SampleRng& rng, const Color& fill,
                             const Filter* filter) const {
  for (int i = 0; i < operations_; ++i) {
    const Operation operation = kOperations[rng.below(std::size(kOperations))];
    if (!rng.coin(0.5)) continue;
    double magnitude = magnitude_;
    if (deviation_ > 100) {
      magnitude = rng.uniform(0, magnitude);
    } else if (deviation_ > 0) {
      magnitude += deviation_ * rng.normal();
    }
    const Filter drawn = rng.coin(0.5) ? Filter::kBilinear : Filter::kBicubic;
    operation({image, std::clamp(magnitude, 0.0, max_) / 10, increasing_, rng, fill,
               filter ? *filter : drawn});
  }
}

}  // namespace centavo::data
