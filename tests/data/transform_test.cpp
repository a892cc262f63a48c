// Augmentation: what is random is so as timm says, and a function of the key; damaged pictures
// never crash.
#include "centavo/data/transform.h"

#include <cmath>
#include <gmock/gmock.h>
#include <set>

#include "tests/data/pictures.h"

namespace centavo::data {
namespace {

using testing::HasSubstr;

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string transform_error(const Augmentation& augment) {
  DatasetOptions options;
  options.augment = augment;
  return error_of([&] { Transform({3, 8, 8}, options); });
}

TEST(RandomCrop, AreaAndAspectAreAsAsked) {
  Augmentation augment;
  double sum = 0;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    SampleRng rng({1, 2, i});
    const Region r = random_crop(3000, 4000, augment, rng);
    ASSERT_GE(r.top, 0);
    ASSERT_GE(r.left, 0);
    ASSERT_LE(r.top + r.height, 3000);
    ASSERT_LE(r.left + r.width, 4000);
    const double area = static_cast<double>(r.height * r.width) / (3000.0 * 4000.0);
    const double aspect = static_cast<double>(r.width) / static_cast<double>(r.height);
    ASSERT_GT(area, 0.079);
    ASSERT_LE(area, 1.0);
    ASSERT_GT(aspect, 0.749);
    ASSERT_LT(aspect, 1.335);
    sum += area;
  }
  EXPECT_NEAR(sum / kDraws, 0.434, 0.01);  // torchvision 0.14.1 in 20,000 draws
}

TEST(RandomCrop, ExtremePicturesGiveTheMiddle) {
  Augmentation augment;
  SampleRng rng({1, 2, 3});
  EXPECT_EQ(random_crop(1, 1000, augment, rng), (Region{0, 499, 1, 1}));
  augment.scale = {1, 1};
  EXPECT_EQ(random_crop(100, 1000, augment, rng), (Region{0, 433, 100, 133}));
  EXPECT_EQ(random_crop(1000, 100, augment, rng), (Region{433, 0, 133, 100}));
}

TEST(RandAugment, PolicyIsCheckedPartByPart) {
  EXPECT_EQ(error_of([] { RandAugment("rand-m9-mstd0.5-inc1"); }), "");
  EXPECT_EQ(error_of([] { RandAugment("rand-m7-n3-mmax10-mstd101"); }), "");
  EXPECT_THAT(error_of([] { RandAugment("augmix-m3"); }), HasSubstr("'rand'"));
  EXPECT_THAT(error_of([] { RandAugment("rand-q3"); }), HasSubstr("'q3'"));
  EXPECT_THAT(error_of([] { RandAugment("rand-m"); }), HasSubstr("has no number"));
  EXPECT_THAT(error_of([] { RandAugment("rand-m9x"); }), HasSubstr("has no number"));
}

// Each of two operations is skipped with probability 1/2, so a quarter of the images stay as they
// are (and a few more: some operations can leave an image alone).
TEST(RandAugment, LeavesAQuarterAlone) {
  Philox noise(1);
  const Image image = random_image(20, 24, 3, noise);
  const RandAugment policy("rand-m9-mstd0.5-inc1");
  int same = 0;
  std::set<std::string> results;
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    SampleRng rng({5, 0, i});
    Image copy = image;
    policy(copy, rng, {1, 2, 3});
    same += copy == image;
    results.emplace(copy.pixels.begin(), copy.pixels.end());
  }
  EXPECT_NEAR(same, kDraws / 4, 200);
  EXPECT_GT(results.size(), kDraws / 4u);
}

TEST(Erase, ShareAndNoiseAreAsAsked) {
  const Shape shape{3, 40, 50};
  for (EraseMode mode : {EraseMode::kConst, EraseMode::kRand, EraseMode::kPixel}) {
    double erased = 0, squares = 0;
    constexpr int kDraws = 2000;
    for (int i = 0; i < kDraws; ++i) {
      std::vector<float> image(6000, 100.0f);
      SampleRng rng({7, 0, i});
      erase_rectangles(image, shape, mode, 1, rng);
      std::set<float> values;
      for (float v : image) {
        if (v == 100.0f) continue;
        ++erased, squares += v * v;
        values.insert(v);
      }
      if (mode == EraseMode::kConst) {
        EXPECT_EQ(values, std::set<float>{0});
      }
      if (mode == EraseMode::kRand) {
        EXPECT_EQ(values.size(), 3u);
      }
    }
    EXPECT_NEAR(erased / kDraws / 6000, (0.02 + 1.0 / 3) / 2, 0.01);
    if (mode != EraseMode::kConst) {
      EXPECT_NEAR(squares / erased, 1, 0.1);
    }
  }
}

TEST(Transform, IsAFunctionOfItsKey) {
  Philox noise(3);
  const auto file = encode_jpeg(random_image(70, 90, 3, noise));
  const auto picture = open_picture(file, "test.jpg");
  DatasetOptions options;
  options.augment.emplace();
  options.augment->auto_augment = "rand-m9-mstd0.5-inc1";
  options.augment->reprob = 0.5;
  const Transform transform({3, 32, 40}, options);
  const auto run = [&](const SampleKey& key) {
    std::vector<float> out(3 * 32 * 40, std::nanf(""));
    transform(*picture, key, out.data());
    return out;
  };
  std::set<std::vector<float>> results;
  for (const SampleKey& key : {SampleKey{1, 0, 0}, {2, 0, 0}, {1, 1, 0}, {1, 0, 1}}) {
    const std::vector<float> out = run(key);
    EXPECT_EQ(out, run(key));
    for (float v : out) ASSERT_FALSE(std::isnan(v));
    results.insert(out);
  }
  EXPECT_EQ(results.size(), 4u);
}

TEST(Transform, PictureOfTheWantedSizeIsNotTouched) {
  Philox noise(4);
  const auto file = encode_jpeg(random_image(28, 28, 1, noise));
  const auto picture = open_picture(file, "test.jpg");
  const Image image = picture->decode(1);
  std::vector<float> out(28 * 28);
  Transform({1, 28, 28}, {})(*picture, {}, out.data());
  for (size_t i = 0; i < out.size(); ++i) EXPECT_FLOAT_EQ(out[i], image.pixels[i] / 127.5f - 1);
}

TEST(Transform, BadOptionsAreNamed) {
  Augmentation a;
  a.scale = {0.5, 0.2};
  EXPECT_THAT(transform_error(a), HasSubstr("scale 0.5 0.2"));
  a = {};
  a.hflip = 1.5;
  EXPECT_THAT(transform_error(a), HasSubstr("hflip"));
  a = {};
  a.remode = "pixle";
  EXPECT_THAT(transform_error(a), HasSubstr("did you mean 'pixel'?"));
  a = {};
  a.auto_augment = "v0";
  EXPECT_THAT(transform_error(a), HasSubstr("rand"));
  EXPECT_THAT(error_of([] { Transform({2, 8, 8}, {}); }), HasSubstr("1 or 3 channels"));
}

TEST(Picture, RegionsAreWhatTheWholeHas) {
  Philox rng(5);
  for (bool progressive : {false, true}) {
    for (int64_t channels : {1, 3}) {
      const auto file = encode_jpeg(random_image(111, 77, channels, rng), progressive);
      const auto picture = open_picture(file, "test.jpg");
      const Image whole = picture->decode(3);
      for (int i = 0; i < 50; ++i) {
        Region r{static_cast<int64_t>(rng.next_below(111)),
                 static_cast<int64_t>(rng.next_below(77)), 0, 0};
        r.height = 1 + static_cast<int64_t>(rng.next_below(static_cast<uint64_t>(111 - r.top)));
        r.width = 1 + static_cast<int64_t>(rng.next_below(static_cast<uint64_t>(77 - r.left)));
        EXPECT_EQ(picture->decode(r, 3, 1), crop(whole, r));
      }
    }
  }
}

TEST(Picture, OrientationTurnsRegionsToo) {
  Philox rng(6);
  const Image stored = random_image(5, 8, 3, rng);
  for (Orientation o = 1; o <= 8; ++o) {
    const Image turned = upright(stored, o);
    EXPECT_EQ(turned.height, o > 4 ? 8 : 5);
    const Region r{1, 2, 3, 2};
    EXPECT_EQ(upright(crop(stored, stored_region(r, o, 5, 8)), o), crop(turned, r)) << o;
  }
}

TEST(Picture, DamagedFilesNeverCrash) {
  Philox rng(7);
  const Image image = random_image(40, 33, 3, rng);
  for (const auto& whole : {encode_jpeg(image), encode_jpeg(image, true)}) {
    for (int i = 0; i < 1500; ++i) {
      auto damaged = whole;
      for (uint64_t flips = 1 + rng.next_below(3); flips > 0; --flips)
        damaged[rng.next_below(damaged.size())] = static_cast<std::byte>(rng.next_u32());
      if (i % 5 == 0) damaged.resize(rng.next_below(damaged.size()));
      try {
        const auto picture = open_picture(damaged, "damaged");
        if (picture->height() * picture->width() > 1 << 20) continue;  // only slow
        picture->decode({picture->height() / 3, 0, (picture->height() + 2) / 3, picture->width()},
                        3, 1);
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("damaged"));
      }
    }
  }
}

}  // namespace
}  // namespace centavo::data
