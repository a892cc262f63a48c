// fill_normal: the same bits at every vector width, and the normal distribution's moments, tails
// and shape.
#include "centavo/data/normal.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <hwy/targets.h>
#include <numbers>
#include <vector>

#include "centavo/base/philox.h"

namespace centavo::data {
namespace {

std::vector<float> normals(size_t count, uint64_t seed, uint64_t stream) {
  std::vector<float> x(count, std::nanf(""));
  fill_normal(std::span(x), seed, stream);
  return x;
}

// The definition, in double: number 64t + 16w + j comes from word w of block 16t + j and its
// neighbour.
double reference(size_t i, uint64_t seed, uint64_t stream) {
  const uint64_t block = i / 64 * 16 + i % 16;
  const size_t word = i / 16 % 4;
  const PhiloxBlock w =
      philox4x32({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                  static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)},
                 {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  const uint32_t a = w[word / 2 * 2], b = w[word / 2 * 2 + 1];
  const double r = std::sqrt(-2 * std::log(((a >> 1) + 0.5) * 0x1p-31));
  const double angle = static_cast<int32_t>(b) * 0x1p-31 * std::numbers::pi / 4;
  const bool sine = (word % 2 == 1) != ((b & 2) != 0);
  return (b & 1 ? -r : r) * (sine ? std::sin(angle) : std::cos(angle));
}

TEST(FillNormal, IsBoxMullerOnPhilox) {
  const uint64_t seed = 0x123456789abcdefu, stream = 0xfedcba9876543210u;
  const std::vector<float> x = normals(10000, seed, stream);
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = reference(i, seed, stream);
    // Near u = 1 the radius is as coarse as float's u is.
    ASSERT_NEAR(x[i], expected, 4e-4 / (1 + 100 * std::abs(expected)) + 2e-6 * std::abs(expected))
        << i;
  }
}

TEST(FillNormal, SameBitsOnEveryInstructionSet) {
  const std::vector<float> best = normals(4097, 5, 6);
  size_t targets = 0;
  for (int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    const std::vector<float> x = normals(best.size(), 5, 6);
    EXPECT_EQ(std::memcmp(x.data(), best.data(), x.size() * sizeof(float)), 0)
        << hwy::TargetName(target);
    ++targets;
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  EXPECT_GE(targets, 1u);
}

TEST(FillNormal, ShorterIsAPrefix) {
  const std::vector<float> whole = normals(200, 1, 2);
  for (size_t n = 0; n < whole.size(); ++n) {
    const std::vector<float> x = normals(n, 1, 2);
    EXPECT_TRUE(std::equal(x.begin(), x.end(), whole.begin())) << n;
  }
}

TEST(FillNormal, Bf16IsTheRoundedFloat) {
  const std::vector<float> x = normals(1001, 3, 4);
  std::vector<bf16> y(x.size(), bf16(7.0f));
  fill_normal(std::span(y), 3, 4);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i].bits, bf16(x[i]).bits) << i;
}

TEST(FillNormal, SeedsAndStreamsDiffer) {
  const std::vector<float> x = normals(64, 1, 1);
  for (auto [seed, stream] : {std::pair{2u, 1u}, {1u, 2u}}) {
    const std::vector<float> y = normals(64, seed, stream);
    EXPECT_FALSE(std::equal(x.begin(), x.end(), y.begin()));
  }
  EXPECT_NE(normals(1, 1, 0), normals(1, uint64_t{1} << 32 | 1, 0));
  EXPECT_NE(normals(1, 1, 0), normals(1, 1, uint64_t{1} << 32));
}

constexpr size_t kMany = 1 << 22;

TEST(FillNormal, Moments) {
  const std::vector<float> x = normals(kMany, 11, 12);
  double m[7] = {}, pair = 0, lag = 0;
  for (size_t i = 0; i < kMany; ++i) {
    double power = 1;
    for (double& sum : m) sum += power, power *= x[i];
    if (i % 32 < 16) pair += x[i] * x[i + 16];  // the two of one Box-Muller pair
    if (i > 0) lag += x[i] * x[i - 1];
  }
  const double n = static_cast<double>(kMany), sigma = 5 / std::sqrt(n);  // five standard errors
  EXPECT_NEAR(m[1] / n, 0, sigma);
  EXPECT_NEAR(m[2] / n, 1, sigma * std::sqrt(2));
  EXPECT_NEAR(m[3] / n, 0, sigma * std::sqrt(15));
  EXPECT_NEAR(m[4] / n, 3, sigma * std::sqrt(96));
  EXPECT_NEAR(m[6] / n, 15, sigma * std::sqrt(10170));
  EXPECT_NEAR(pair / (n / 2), 0, sigma * std::sqrt(2));
  EXPECT_NEAR(lag / n, 0, sigma);
}

TEST(FillNormal, Tails) {
  const std::vector<float> x = normals(kMany, 13, 14);
  const double n = static_cast<double>(kMany);
  for (double bound : {1.0, 2.0, 3.0, 4.0, 4.5}) {
    const double p = std::erfc(bound / std::numbers::sqrt2) / 2;
    for (int sign : {-1, 1}) {
      const auto beyond =
          std::count_if(x.begin(), x.end(), [&](float v) { return sign * v > bound; });
      EXPECT_NEAR(static_cast<double>(beyond), n * p, 5 * std::sqrt(n * p) + 1) << sign * bound;
    }
  }
  EXPECT_LT(*std::max_element(x.begin(), x.end()), 6.67f);
}

TEST(FillNormal, KolmogorovSmirnov) {
  std::vector<float> x = normals(kMany, 15, 16);
  std::sort(x.begin(), x.end());
  double distance = 0;
  for (size_t i = 0; i < kMany; ++i) {
    const double cdf = std::erfc(-x[i] / std::numbers::sqrt2) / 2;
    const double n = static_cast<double>(kMany), at = static_cast<double>(i);
    distance = std::max({distance, cdf - at / n, (at + 1) / n - cdf});
  }
  EXPECT_LT(distance * std::sqrt(static_cast<double>(kMany)), 1.95);  // 1 in 1000
}

}  // namespace
}  // namespace centavo::data
