// Mixup and CutMix: what a batch becomes, what it is drawn from, and on what it depends.
#include "centavo/data/mix.h"

#include <gmock/gmock.h>
#include <numeric>

#include "centavo/base/error.h"
#include "centavo/data/loader.h"

namespace centavo::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Mix, BetaHasItsMoments) {
  for (double alpha : {0.1, 0.8, 1.0, 5.0}) {
    Philox rng(1);
    double sum = 0, squares = 0;
    constexpr int kDraws = 40000;
    for (int i = 0; i < kDraws; ++i) {
      const double x = draw_beta(rng, alpha);
      ASSERT_GE(x, 0);
      ASSERT_LE(x, 1);
      sum += x, squares += x * x;
    }
    const double mean = sum / kDraws;
    EXPECT_NEAR(mean, 0.5, 0.01) << alpha;
    EXPECT_NEAR(squares / kDraws - mean * mean, 1 / (4 * (2 * alpha + 1)), 0.005) << alpha;
  }
}

TEST(Mix, MixupBlendsTheBatchsEnds) {
  std::vector<float> images = {0, 1, 10, 20, 5, 6};
  mix_images(images, {3, 1, 1, 2}, {.share = 0.75, .box = {}});
  EXPECT_THAT(images, ElementsAre(1.25f, 2.25f, 10, 20, 3.75f, 4.75f));
  std::vector<int32_t> targets = {7, 8, 9, 0, 0, 0, 0, 0, 0};
  mix_targets(targets, {.share = 0.75, .box = {}});
  EXPECT_THAT(targets, ElementsAre(7, 8, 9, 9, 8, 7, 3 << 22, 3 << 22, 3 << 22));
}

TEST(Mix, CutMixSwapsTheBox) {
  const Shape shape{2, 2, 3, 4};
  std::vector<float> images(48);
  std::iota(images.begin(), images.end(), 0.0f);
  const std::vector<float> before = images;
  const Region box{1, 2, 2, 1};
  mix_images(images, shape, {.share = 5.0 / 6, .box = box});
  for (size_t i = 0; i < 48; ++i) {
    const size_t y = i / 4 % 3, x = i % 4;
    const bool inside = y >= 1 && x == 2;
    EXPECT_EQ(images[i], before[inside ? (i + 24) % 48 : i]) << i;
  }
}

TEST(Mix, DrawsAreAsAskedAndAFunctionOfTheirKey) {
  const MixOptions both{.mixup = 0.8, .cutmix = 1, .prob = 0.6, .switch_prob = 0.25};
  int plain = 0, cut = 0;
  constexpr int kDraws = 10000;
  for (int i = 0; i < kDraws; ++i) {
    const Mix mix = draw_mix(both, 1, 2, i, 20, 30);
    EXPECT_EQ(mix.share, draw_mix(both, 1, 2, i, 20, 30).share);
    plain += mix.share == 1;
    if (mix.box.height * mix.box.width > 0) {
      ++cut;
      EXPECT_DOUBLE_EQ(mix.share, 1 - static_cast<double>(mix.box.height * mix.box.width) / 600);
      EXPECT_LE(mix.box.top + mix.box.height, 20);
      EXPECT_LE(mix.box.left + mix.box.width, 30);
    }
  }
  EXPECT_NEAR(plain, 0.4 * kDraws, 200);
  EXPECT_NEAR(cut, 0.6 * 0.25 * kDraws, 200);
  EXPECT_NE(draw_mix(both, 1, 2, 3, 20, 30).share, draw_mix(both, 1, 3, 3, 20, 30).share);
  EXPECT_EQ(draw_mix({}, 1, 2, 3, 20, 30).share, 1);
  try {
    draw_mix({.mixup = 1, .prob = 2}, 1, 2, 3, 20, 30);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("2 is no probability"));
  }
}

// Batches from any number of threads are the plain ones, mixed.
TEST(Mix, LoaderMixesWholeBatches) {
  DatasetOptions options;
  options.channels = 1, options.height = options.width = 6, options.length = 21;
  const auto dataset = open_dataset("fake", options);
  LoaderOptions plain{.batch_size = 5, .workers = 0, .seed = 3, .epochs = 2};
  LoaderOptions mixing = plain;
  mixing.mix = {.mixup = 1, .cutmix = 1};
  for (int workers : {0, 1, 3}) {
    mixing.workers = workers;
    Loader expected(dataset, plain), actual(dataset, mixing);
    int mixed = 0;
    while (const auto batch = expected.next()) {
      const auto other = actual.next();
      ASSERT_TRUE(other);
      const Mix mix = draw_mix(mixing.mix, 3, batch->epoch(), batch->index(), 6, 6);
      std::vector<float> images(batch->images().begin(), batch->images().end());
      mix_images(images, batch->input_type().shape, mix);
      EXPECT_TRUE(std::ranges::equal(images, other->images()));
      std::vector<int32_t> targets(batch->targets().begin(), batch->targets().end());
      targets.resize(15);
      mix_targets(targets, mix);
      EXPECT_TRUE(std::ranges::equal(targets, other->targets()));
      mixed += mix.share < 1;
    }
    EXPECT_FALSE(actual.next());
    EXPECT_GT(mixed, 0);
  }
}

}  // namespace
}  // namespace centavo::data
