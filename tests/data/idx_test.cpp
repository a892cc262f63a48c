// IDX datasets: values, normalisation, and every way in which a file can be wrong.
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <random>
#include <zlib.h>

#include "tests/memory_file.h"
#include "tests/temp_dir.h"

#include "centavo/base/philox.h"
#include "centavo/data/dataset.h"
#include "centavo/data/idx_file.h"

namespace centavo::data {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

std::string idx(std::vector<uint32_t> dims, const std::vector<uint8_t>& values) {
  std::string s{0, 0, 8, static_cast<char>(dims.size())};
  for (uint32_t d : dims) {
    for (int shift : {24, 16, 8, 0}) s += static_cast<char>(d >> shift);
  }
  return s.append(values.begin(), values.end());
}

void put(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void put_gzipped(const fs::path& path, std::string_view bytes) {
  gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
            static_cast<int>(bytes.size()));
  gzclose(file);
}

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Five images of 3x2 with random pixels and labels 0..4.
class Idx : public testing::Test {
 protected:
  Idx() : pixels_(5 * 3 * 2) {
    Philox rng(std::random_device{}());
    for (uint8_t& p : pixels_) p = static_cast<uint8_t>(rng.next_u32());
    images_ = idx({5, 3, 2}, pixels_);
    labels_ = idx({5}, {0, 1, 2, 3, 4});
    put(dir_ / "train-images-idx3-ubyte", images_);
    put(dir_ / "train-labels-idx1-ubyte", labels_);
  }

  std::string spec() const { return "idx:" + dir_.path().string(); }
  std::string open_error(const DatasetOptions& options = {}) {
    return error_of([&] { open_dataset(spec(), options); });
  }

  TempDir dir_;
  std::vector<uint8_t> pixels_;
  std::string images_, labels_;
};

TEST_F(Idx, PixelsAreNormalised) {
  DatasetOptions options;
  options.mean = {0.25f};
  options.stddev = {2.0f};
  const auto dataset = open_dataset(spec(), options);
  EXPECT_EQ(dataset->size(), 5);
  EXPECT_EQ(dataset->num_classes(), 10);
  EXPECT_EQ(dataset->input_type(), (TensorType{DType::kF32, {1, 3, 2}}));
  for (int64_t i = 0; i < 5; ++i) {
    float image[6];
    int32_t label = -7;
    dataset->get({1, 2, i}, image, &label);
    EXPECT_EQ(label, i);
    for (size_t p = 0; p < 6; ++p)
      EXPECT_FLOAT_EQ(image[p], (pixels_[static_cast<size_t>(i) * 6 + p] / 255.0f - 0.25f) / 2.0f);
  }
}

TEST_F(Idx, GreyFillsEveryChannelAsked) {
  DatasetOptions options;
  options.channels = 3;
  options.mean = {0.1f, 0.2f, 0.3f};
  options.stddev = {1, 2, 4};
  const auto dataset = open_dataset(spec(), options);
  float image[18];
  int32_t label;
  dataset->get({0, 0, 3}, image, &label);
  for (size_t c = 0; c < 3; ++c) {
    for (size_t p = 0; p < 6; ++p)
      EXPECT_FLOAT_EQ(image[c * 6 + p],
                      (pixels_[18 + p] / 255.0f - options.mean[c]) / options.stddev[c]);
  }
}

TEST_F(Idx, GzippedEvaluationSplit) {
  put_gzipped(dir_ / "t10k-images-idx3-ubyte.gz", idx({1, 3, 2}, {1, 2, 3, 4, 5, 6}));
  put_gzipped(dir_ / "t10k-labels.idx1-ubyte.gz", idx({1}, {9}));
  DatasetOptions options;
  options.split = Split::kEval;
  const auto dataset = open_dataset(spec(), options);
  float image[6];
  int32_t label;
  dataset->get({0, 0, 0}, image, &label);
  EXPECT_EQ(dataset->size(), 1);
  EXPECT_EQ(label, 9);
  EXPECT_FLOAT_EQ(image[5], (6 / 255.0f - 0.5f) / 0.5f);
}

TEST_F(Idx, WrongDataIsNamed) {
  put(dir_ / "train-labels-idx1-ubyte", idx({5}, {0, 1, 12, 3, 4}));
  EXPECT_THAT(open_error(),
              AllOf(HasSubstr("train-labels-idx1-ubyte"), HasSubstr("label 12 of sample 2"),
                    HasSubstr("--num-classes 13")));
  DatasetOptions more;
  more.num_classes = 13;
  EXPECT_EQ(open_error(more), "");

  put(dir_ / "train-labels-idx1-ubyte", idx({4}, {0, 1, 2, 3}));
  EXPECT_THAT(open_error(), AllOf(HasSubstr("5 images"), HasSubstr("4 labels")));
  put(dir_ / "train-labels-idx1-ubyte", images_);
  EXPECT_THAT(open_error(), HasSubstr("labels have 1"));
  put(dir_ / "train-labels-idx1-ubyte", labels_ + "x");
  EXPECT_THAT(open_error(), HasSubstr("behind"));
  put(dir_ / "train-labels-idx1-ubyte", "hello, world");
  EXPECT_THAT(open_error(), HasSubstr("not an IDX file"));
  put(dir_ / "train-labels-idx1-ubyte", idx({0}, {}));
  EXPECT_THAT(open_error(), HasSubstr("impossible extent"));
  fs::remove(dir_ / "train-labels-idx1-ubyte");
  EXPECT_THAT(open_error(), HasSubstr("no train-labels-idx1-ubyte"));
}

TEST_F(Idx, WrongOptionsAreNamed) {
  DatasetOptions options;
  options.height = 32;
  EXPECT_THAT(open_error(options), AllOf(HasSubstr("3x2"), HasSubstr("32x2")));
  options = {};
  options.mean = {0.1f, 0.2f};
  EXPECT_THAT(open_error(options), HasSubstr("2 values of mean for 1 channels"));
  options = {};
  options.stddev = {0};
  EXPECT_THAT(open_error(options), HasSubstr("not positive"));
  options = {};
  options.num_classes = 0;
  EXPECT_THAT(open_error(options), HasSubstr("at least one"));
}

TEST(Dataset, UnknownSpecOffersTheNearest) {
  EXPECT_THAT(error_of([] { open_dataset("fkae"); }), HasSubstr("did you mean 'fake'?"));
  EXPECT_THAT(error_of([] { open_dataset("idx"); }), HasSubstr("written idx:DIR"));
  EXPECT_THAT(error_of([] { open_dataset("fake:x"); }), HasSubstr("written fake"));
}

TEST_F(Idx, AnyCutIsAnError) {
  put_gzipped(dir_ / "whole.gz", images_);
  std::ifstream in(dir_ / "whole.gz", std::ios::binary);
  const std::string zipped{std::istreambuf_iterator<char>(in), {}};
  MemoryFile cut;
  for (const std::string& whole : {images_, zipped}) {
    for (size_t n = 0; n < whole.size(); ++n) {
      cut.put(std::string_view(whole).substr(0, n));
      EXPECT_THROW(read_idx(cut.path()), Error) << n << " of " << whole.size();
    }
    cut.put(whole);
    EXPECT_EQ(read_idx(cut.path()).values, pixels_);
  }
}

TEST_F(Idx, FlippedBytesNeverCrash) {
  put_gzipped(dir_ / "whole.gz", images_);
  std::ifstream in(dir_ / "whole.gz", std::ios::binary);
  const std::string zipped{std::istreambuf_iterator<char>(in), {}};
  MemoryFile file;
  Philox rng(9);
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = i % 2 == 0 ? images_ : zipped;
    // Mostly in the header, where it matters.
    damaged[rng.next_below(i % 4 < 2 ? 16 : damaged.size())] = static_cast<char>(rng.next_u32());
    file.put(damaged);
    try {
      const IdxArray array = read_idx(file.path());
      int64_t count = 1;
      for (int64_t d : array.dims) count *= d;
      ASSERT_EQ(static_cast<size_t>(count), array.values.size());
    } catch (const Error&) {
    }
  }
}

TEST(FashionMnist, IsWhatItsAuthorsSay) {
  const fs::path directory = "/usr/share/datasets/fashion-mnist";
  if (!fs::exists(directory)) {
    ASSERT_EQ(std::getenv("CENTAVO_REQUIRE_DATA"), nullptr)
        << "dataset-fashion-mnist is not installed";
    GTEST_SKIP() << "needs Debian's dataset-fashion-mnist";
  }
  for (auto [split, size] : {std::pair{Split::kTrain, 60000}, {Split::kEval, 10000}}) {
    DatasetOptions options;
    options.split = split;
    const auto dataset = open_dataset("idx:" + directory.string(), options);
    ASSERT_EQ(dataset->size(), size);
    EXPECT_EQ(dataset->input_type().shape, (Shape{1, 28, 28}));
    std::vector<int> count(10);
    float image[28 * 28];
    for (int64_t i = 0; i < size; ++i) {
      int32_t label;
      dataset->get({0, 0, i}, image, &label);
      ++count[static_cast<size_t>(label)];
    }
    EXPECT_EQ(count, std::vector<int>(10, size / 10));
  }
}

}  // namespace
}  // namespace centavo::data
