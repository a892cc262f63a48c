// The base layer: number formats, random numbers, names and shapes.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "centavo/base/philox.h"
#include "centavo/base/shape.h"
#include "centavo/base/text.h"

namespace centavo {
namespace {

TEST(Bf16, RoundsToNearestEven) {
  EXPECT_EQ(bf16(1.0f).bits, 0x3f80);
  EXPECT_EQ(bf16(1.0f + 0x1p-8f).bits, 0x3f80);             // tie, to even
  EXPECT_EQ(bf16(1.0f + 3 * 0x1p-8f).bits, 0x3f82);         // tie, to even
  EXPECT_EQ(bf16(1.0f + 0x1p-8f + 0x1p-20f).bits, 0x3f81);  // above the tie
  EXPECT_TRUE(std::isnan(float(bf16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isinf(float(bf16(std::numeric_limits<float>::max()))));
}

// Known answers from the Random123 distribution's kat_vectors.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, NormalMoments) {
  Philox rng(7);
  double sum = 0, squares = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    double x = rng.next_normal();
    sum += x, squares += x * x;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.02);
  EXPECT_NEAR(squares / kCount, 1, 0.02);
}

TEST(Text, NearestName) {
  std::vector<std::string> names = {"vit_tiny_patch16_224", "vit_base_patch16_224", "mlp"};
  EXPECT_EQ(nearest_name("vit_tiny_patch16_22", names), "vit_tiny_patch16_224");
  EXPECT_EQ(nearest_name("vit_tiny", names), "vit_tiny_patch16_224");
  EXPECT_EQ(nearest_name("completely_else", names), "");
}

TEST(Text, Formats) {
  EXPECT_EQ(with_thousands(86567656), "86,567,656");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_seconds(200), "3 m 20 s");
  EXPECT_TRUE(glob_match("vit_*224", "vit_tiny_patch16_224"));
  EXPECT_FALSE(glob_match("vit_?", "vit_tiny"));
}

TEST(Shape, Basics) {
  Shape s{2, 3, 4};
  EXPECT_EQ(s.elements(), 24);
  EXPECT_EQ(s[-1], 4);
  EXPECT_EQ(s.strides(), (std::vector<int64_t>{12, 4, 1}));
  EXPECT_EQ(to_string(TensorType{DType::kBF16, s}), "bf16[2,3,4]");
  EXPECT_EQ(Shape{}.elements(), 1);
}

TEST(DType, Names) {
  for (DType d : {DType::kBool, DType::kI32, DType::kBF16, DType::kF64}) {
    EXPECT_EQ(dtype_from_name(name_of(d)), d);
  }
  EXPECT_THROW(dtype_from_name("f23"), Error);
}

TEST(Text, NaturalOrderIsThatOfTimm) {
  // sorted(names, key=timm.data.readers.class_map natural_key)
  const std::vector<std::string> sorted = {
      "",     "1",  "02", "10",  "a",    "A1",   "a1b",    "a1b2",
      "a01c", "a2", "b",  "img", "img1", "IMG2", "img010", "img99999999999999999999999"};
  for (size_t i = 0; i < sorted.size(); ++i) {
    for (size_t j = 0; j < sorted.size(); ++j)
      EXPECT_EQ(natural_less(sorted[i], sorted[j]), i < j) << sorted[i] << " " << sorted[j];
  }
  EXPECT_TRUE(natural_less("A", "a"));
  EXPECT_FALSE(natural_less("a", "A"));
}

}  // namespace
}  // namespace centavo
