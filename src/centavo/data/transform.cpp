// The two ways through: augmented for training, centred for everything else.
#include "centavo/data/transform.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "centavo/base/error.h"
#include "centavo/base/text.h"
#include "centavo/data/color.h"

namespace centavo::data {
namespace {

constexpr double kDefaultCropPct = 0.875;  // timm's DEFAULT_CROP_PCT

void check_range(const char* name, std::pair<double, double> range, double limit) {
  if (!(range.first > 0 && range.first <= range.second && range.second <= limit))
    throw Error("augment", "{} {} {} is no range within 0..{}", name, range.first, range.second,
                limit);
}

void check_probability(const char* name, double p) {
  if (!(p >= 0 && p <= 1)) throw Error("augment", "{} {} is no probability", name, p);
}

EraseMode erase_mode_of(const std::string& name) {
  const std::vector<std::string> names = {"const", "rand", "pixel"};
  for (size_t i = 0; i < names.size(); ++i) {
    if (name == names[i]) return static_cast<EraseMode>(i);
  }
  throw Error("augment", "unknown remode '{}'{}", name, did_you_mean(name, names));
}

void check(const Augmentation& a) {
  check_range("scale", a.scale, 1);
  check_range("ratio", a.ratio, 100);
  check_probability("hflip", a.hflip);
  check_probability("vflip", a.vflip);
  check_probability("reprob", a.reprob);
  if (!(a.color_jitter >= 0)) throw Error("augment", "color-jitter {} is negative", a.color_jitter);
  if (a.recount < 1) throw Error("augment", "recount {}; it must be at least 1", a.recount);
}

// The strongest reduction that leaves at least as many pixels as are wanted.
int64_t reduction(int64_t height, int64_t width, int64_t wanted_height, int64_t wanted_width) {
  int64_t reduce = 8;
  while (reduce > 1 && (height / reduce < wanted_height || width / reduce < wanted_width))
    reduce /= 2;
  return reduce;
}

}  // namespace

Region random_crop(int64_t height, int64_t width, const Augmentation& augment, SampleRng& rng) {
  const auto& [min_ratio, max_ratio] = augment.ratio;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = static_cast<double>(height * width) *
                        rng.uniform(augment.scale.first, augment.scale.second);
    const double aspect = std::exp(rng.uniform(std::log(min_ratio), std::log(max_ratio)));
    const auto w = static_cast<int64_t>(std::round(std::sqrt(area * aspect)));
    const auto h = static_cast<int64_t>(std::round(std::sqrt(area / aspect)));
    if (h < 1 || w < 1 || h > height || w > width) continue;
    return {rng.below(height - h + 1), rng.below(width - w + 1), h, w};
  }
  const double aspect = static_cast<double>(width) / static_cast<double>(height);
  int64_t h = height, w = width;
  if (aspect < min_ratio)
    h = std::min(height, static_cast<int64_t>(std::round(static_cast<double>(w) / min_ratio)));
  if (aspect > max_ratio)
    w = std::min(width, static_cast<int64_t>(std::round(static_cast<double>(h) * max_ratio)));
  h = std::max<int64_t>(h, 1), w = std::max<int64_t>(w, 1);
  return {(height - h) / 2, (width - w) / 2, h, w};
}

Transform::Transform(const Shape& shape, const DatasetOptions& options)
    : shape_(shape),
      normalizer_(shape[0], options.mean, options.stddev),
      crop_pct_(options.crop_pct),
      filter_(options.interpolation == Interpolation::kBilinear ? Filter::kBilinear
                                                                : Filter::kBicubic) {
  if (shape[0] != 1 && shape[0] != 3)
    throw Error("dataset", "images have 1 or 3 channels, the model wants {}", shape[0]);
  if (crop_pct_ && !(*crop_pct_ > 0 && *crop_pct_ <= 1))
    throw Error("dataset", "crop-pct {} is outside 0..1", *crop_pct_);
  if (!options.augment || options.split != Split::kTrain) return;
  augment_ = options.augment;
  check(*augment_);
  erase_mode_ = erase_mode_of(augment_->remode);
  if (!augment_->auto_augment.empty()) rand_augment_.emplace(augment_->auto_augment);
  for (size_t c = 0; c < fill_.size(); ++c) {
    const float mean = normalizer_.mean(std::min(static_cast<int64_t>(c), shape[0] - 1));
    fill_[c] = static_cast<uint8_t>(std::clamp(std::round(255 * mean), 0.0f, 255.0f));
  }
}

void Transform::operator()(const Picture& picture, const SampleKey& key, float* out) const {
  if (!augment_) {
    normalizer_(centred(picture), out);
    return;
  }
  SampleRng rng(key);
  normalizer_(augmented(picture, rng), out);
  if (rng.coin(augment_->reprob))
    erase_rectangles({out, static_cast<size_t>(shape_.elements())}, shape_, erase_mode_,
                     augment_->recount, rng);
}

Image Transform::augmented(const Picture& picture, SampleRng& rng) const {
  const int64_t height = shape_[1], width = shape_[2];
  const Region region = random_crop(picture.height(), picture.width(), *augment_, rng);
  std::optional<Filter> fixed;
  if (augment_->interpolation != Interpolation::kRandom)
    fixed =
        augment_->interpolation == Interpolation::kBilinear ? Filter::kBilinear : Filter::kBicubic;
  const Filter drawn = rng.coin(0.5) ? Filter::kBilinear : Filter::kBicubic;
  const int64_t reduce = reduction(region.height, region.width, height, width);
  Image image =
      resize(picture.decode(region, shape_[0], reduce), height, width, fixed.value_or(drawn));
  if (rng.coin(augment_->hflip)) flip_horizontally(image);
  if (rng.coin(augment_->vflip)) flip_vertically(image);
  if (rand_augment_) {
    (*rand_augment_)(image, rng, fill_, fixed ? &*fixed : nullptr);
  } else if (augment_->color_jitter > 0) {
    jitter_color(image, rng);
  }
  return image;
}

// torchvision's ColorJitter without hue: the three adjustments in random order.
void Transform::jitter_color(Image& image, SampleRng& rng) const {
  constexpr void (*kAdjust[])(Image&, double) = {adjust_brightness, adjust_contrast, adjust_color};
  int order[] = {0, 1, 2};
  for (int64_t i = 2; i > 0; --i) std::swap(order[i], order[rng.below(i + 1)]);
  const double strength = augment_->color_jitter;
  for (int i : order) kAdjust[i](image, rng.uniform(std::max(0.0, 1 - strength), 1 + strength));
}

// timm's evaluation: the picture is resized until its shorter side is the wanted one over crop_pct,
// then its middle is taken. A picture of the wanted size is taken as it is unless crop_pct was
// asked for.
Image Transform::centred(const Picture& picture) const {
  const int64_t height = shape_[1], width = shape_[2], channels = shape_[0];
  const bool fits = picture.height() == height && picture.width() == width;
  if (fits && !crop_pct_) return picture.decode(channels);
  const double pct = crop_pct_.value_or(kDefaultCropPct);
  const double scaled_height = std::floor(static_cast<double>(height) / pct),
               scaled_width = std::floor(static_cast<double>(width) / pct);
  const auto picture_height = static_cast<double>(picture.height()),
             picture_width = static_cast<double>(picture.width());
  int64_t h, w;
  if (height == width) {  // torchvision's Resize: the longer side is cut to a whole number
    const double shorter = std::min(picture_height, picture_width);
    h = static_cast<int64_t>(scaled_height * picture_height / shorter);
    w = static_cast<int64_t>(scaled_width * picture_width / shorter);
  } else {  // timm's ResizeKeepRatio
    const double ratio = std::min(picture_height / scaled_height, picture_width / scaled_width);
    h = static_cast<int64_t>(std::nearbyint(picture_height / ratio));
    w = static_cast<int64_t>(std::nearbyint(picture_width / ratio));
  }
  // Halves go to the even number, as in Python.
  const auto middle = [](int64_t outer, int64_t inner) {
    return static_cast<int64_t>(std::nearbyint(static_cast<double>(outer - inner) / 2));
  };
  return resize(picture.decode(channels), h, w, filter_,
                {middle(h, height), middle(w, width), height, width});
}

}  // namespace centavo::data
