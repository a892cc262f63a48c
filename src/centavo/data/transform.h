// From a picture to a model's input: crop, resize, augment, normalise. Names and defaults are
// timm's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "centavo/base/shape.h"
#include "centavo/data/erase.h"
#include "centavo/data/image.h"
#include "centavo/data/normalize.h"
#include "centavo/data/rand_augment.h"
#include "centavo/data/resize.h"

namespace centavo::data {

class Transform {
 public:
  // `options.split` kTrain with `options.augment` augments; anything else resizes and crops the
  // middle. `shape`: [C,H,W] of the result, C = 1 or 3. Throws Error for an option out of range.
  Transform(const Shape& shape, const DatasetOptions& options);

  // Writes shape.elements() floats. What is random is a function of the key.
  void operator()(const Picture& picture, const SampleKey& key, float* out) const;

 private:
  Image augmented(const Picture& picture, SampleRng& rng) const;
  Image centred(const Picture& picture) const;
  void jitter_color(Image& image, SampleRng& rng) const;

  Shape shape_;
  Normalizer normalizer_;
  std::optional<Augmentation> augment_;
  std::optional<RandAugment> rand_augment_;
  std::optional<double> crop_pct_;
  Filter filter_;
  EraseMode erase_mode_ = EraseMode::kPixel;
  Color fill_{};
};

// A random crop of a picture of this size: its area a share of the whole drawn from scale, its
// aspect drawn log-uniformly from ratio; after ten misses the middle.
Region random_crop(int64_t height, int64_t width, const Augmentation& augment, SampleRng& rng);

}  // namespace centavo::data
