// RandAugment (Cubuk et al., arXiv 1909.13719) in timm's variant and under its names.
#pragma once

#include <string_view>

#include "centavo/data/affine.h"
#include "centavo/data/rng.h"

namespace centavo::data {

// A policy such as "rand-m9-mstd0.5-inc1": n operations (default 2) drawn from 15, each applied
// with probability 1/2 at magnitude m (10) with normal noise of deviation mstd (0; above 100:
// uniform in [0, m]), kept within [0, mmax] (10); inc1 takes the forms whose severity grows with
// the magnitude.
class RandAugment {
 public:
  // Throws Error saying what is wrong with the policy.
  explicit RandAugment(std::string_view policy);

  // `fill` is the colour of pixels that come from outside. `filter` interpolates; null: drawn for
  // each operation.
  void operator()(Image& image, SampleRng& rng, const Color& fill,
                  const Filter* filter = nullptr) const;

 private:
  double magnitude_ = 10, deviation_ = 0, max_ = 10;
  int operations_ = 2;
  bool increasing_ = false;
};

}  // namespace centavo::data
