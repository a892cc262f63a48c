// Mixup and CutMix of a batch (Zhang et al. 2018, Yun et al. 2019), in timm's terms: each image
// gets a part of its counterpart, the one as far from the batch's other end.
#pragma once

#include <cstdint>
#include <span>

#include "centavo/base/philox.h"
#include "centavo/base/shape.h"
#include "centavo/data/image.h"

namespace centavo::data {

struct MixOptions {
  double mixup = 0,
         cutmix = 0;         // alpha of Beta(alpha, alpha), which the share is drawn from; 0: off
  double prob = 1;           // of mixing a batch at all
  double switch_prob = 0.5;  // of CutMix where both are on
  bool enabled() const { return mixup != 0 || cutmix != 0; }
};

// What is done to a batch.
struct Mix {
  double share = 1;  // that an image keeps of itself; of its target as well
  Region box;        // CutMix: what the counterpart fills. Mixup: empty
};

// A function of its arguments, the same on every rank; `height` and `width` are the images'. Throws
// Error for an option out of range.
Mix draw_mix(const MixOptions& options, uint64_t seed, int64_t epoch, int64_t batch, int64_t height,
             int64_t width);

// Mixes images f32 [N,C,H,W] in place.
void mix_images(std::span<float> images, const Shape& shape, const Mix& mix);

// A mixed batch's targets are i32 [3, N]: the images' classes, their counterparts' classes, and the
// share of the former as a whole number of 2^-24ths.
inline constexpr int64_t kMixRows = 3;
inline constexpr double kMixUnit = 0x1p-24;
// Fills rows 1 and 2 from row 0.
void mix_targets(std::span<int32_t> targets, const Mix& mix);

// One number of Beta(alpha, alpha), alpha > 0.
double draw_beta(Philox& rng, double alpha);

}  // namespace centavo::data
