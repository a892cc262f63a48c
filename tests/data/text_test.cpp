// Text as bytes: windows, their targets, and the split.
#include <fstream>
#include <gmock/gmock.h>

#include "tests/temp_dir.h"

#include "centavo/base/error.h"
#include "centavo/data/dataset.h"

namespace centavo::data {
namespace {

using testing::HasSubstr;

TEST(Text, TargetsAreTheNextBytes) {
  TempDir dir;
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>(i * 7 % 251);
  std::ofstream(dir / "t", std::ios::binary) << text;
  DatasetOptions options;
  options.context = 10;
  for (Split split : {Split::kTrain, Split::kEval}) {
    options.split = split;
    const auto dataset = open_dataset("text:" + (dir / "t").string(), options);
    EXPECT_EQ(dataset->num_classes(), 256);
    EXPECT_EQ(dataset->input_type(), (TensorType{DType::kI32, {10}}));
    EXPECT_EQ(dataset->size(), split == Split::kTrain ? 89 : 9);
    const size_t begin = split == Split::kTrain ? 0 : 900,
                 end = split == Split::kTrain ? 900 : 1000;
    std::set<size_t> starts;
    for (int64_t epoch = 0; epoch < 30; ++epoch) {
      for (int64_t i = 0; i < dataset->size(); ++i) {
        std::vector<int32_t> in(10), target(10);
        dataset->get({1, epoch, i}, in.data(), target.data());
        EXPECT_TRUE(std::equal(in.begin() + 1, in.end(), target.begin()));
        std::string window(in.begin(), in.end());
        window += static_cast<char>(target.back());
        const size_t at = text.find(window, begin + static_cast<size_t>(i) * 10);
        ASSERT_LT(at, begin + static_cast<size_t>(i) * 10 + 10);
        ASSERT_LE(at + 11, end);
        if (i == 0) starts.insert(at);
      }
    }
    // Training's windows move from epoch to epoch, evaluation's do not.
    EXPECT_EQ(starts.size() > 1, split == Split::kTrain);
  }
  options.context = 901;
  try {
    open_dataset("text:" + (dir / "t").string(), options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("lower --context"));
  }
}

}  // namespace
}  // namespace centavo::data
