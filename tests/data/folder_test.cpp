// Folders of images: classes and their order, what a broken image does, and batches that depend on
// nothing but the seed.
#include <fstream>
#include <gmock/gmock.h>

#include "tests/data/pictures.h"
#include "tests/temp_dir.h"

#include "centavo/data/classes.h"
#include "centavo/data/dataset.h"
#include "centavo/data/loader.h"

namespace centavo::data {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
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

class Folder : public testing::Test {
 protected:
  // A JPEG of 40x50 whose pixels are a function of `seed`.
  void put(const std::string& path, uint64_t seed = 1) const {
    Philox rng(seed);
    put_bytes(path, encode_jpeg(random_image(40, 50, 3, rng)));
  }
  void put_bytes(const std::string& path, std::span<const std::byte> bytes) const {
    fs::create_directories((dir_ / path).parent_path());
    std::ofstream(dir_ / path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  std::string spec() const { return "folder:" + dir_.path().string(); }
  std::shared_ptr<const Dataset> open(Split split = Split::kTrain) {
    options_.split = split;
    options_.height = options_.width = 16;
    return open_dataset(spec(), options_);
  }
  static std::vector<float> image(const Dataset& dataset, int64_t index, int32_t* label = nullptr) {
    std::vector<float> pixels(static_cast<size_t>(dataset.input_type().shape.elements()));
    int32_t ignored;
    dataset.get({1, 0, index}, pixels.data(), label ? label : &ignored);
    return pixels;
  }
  static std::vector<int32_t> labels(const Dataset& dataset) {
    std::vector<int32_t> all(static_cast<size_t>(dataset.size()));
    for (int64_t i = 0; i < dataset.size(); ++i) image(dataset, i, &all[static_cast<size_t>(i)]);
    return all;
  }

  TempDir dir_;
  DatasetOptions options_;
};

TEST_F(Folder, ClassesAndImagesAreInNaturalOrder) {
  for (const char* name : {"class10/a.jpg", "class2/b10.jpg", "class2/b9.JPEG", "Class1/c.jpg"})
    put(std::string("train/") + name);
  put("train/class2/notes.txt");
  const auto dataset = open();
  EXPECT_THAT(dataset->class_names(), ElementsAre("Class1", "class2", "class10"));
  EXPECT_EQ(dataset->num_classes(), 3);
  EXPECT_THAT(labels(*dataset), ElementsAre(0, 1, 1, 2));
  const TempDir out;
  write_classes(out / "classes.txt", dataset->class_names());
  EXPECT_EQ(read_classes(out / "classes.txt"), dataset->class_names());
}

TEST_F(Folder, EvaluationHasTrainingsLabels) {
  put("train/a/1.jpg"), put("train/b/1.jpg"), put("train/c/1.jpg");
  put("validation/c/1.jpg"), put("validation/b/1.jpg");
  const auto dataset = open(Split::kEval);
  EXPECT_EQ(dataset->num_classes(), 3);
  EXPECT_THAT(labels(*dataset), ElementsAre(1, 2));
  put("validation/d/1.jpg");
  EXPECT_THAT(error_of([&] { open(Split::kEval); }), HasSubstr("is of class 'd', which"));
}

TEST_F(Folder, MistakesAreNamedWithTheRemedy) {
  EXPECT_THAT(error_of([] { open_dataset("folder:/nowhere"); }), HasSubstr("check the path"));
  EXPECT_THAT(error_of([&] { open(); }), AllOf(HasSubstr("no train"), HasSubstr("/CLASS/")));
  fs::create_directories(dir_ / "train/empty");
  EXPECT_THAT(error_of([&] { open(); }), HasSubstr("no images in"));
  put("train/a/1.jpg"), put("train/b/1.jpg");
  options_.num_classes = 1;
  EXPECT_THAT(error_of([&] { open(); }), HasSubstr("--num-classes 2"));
  options_.num_classes = 7;
  EXPECT_EQ(open()->num_classes(), 7);
  put("train/stray.jpg");
  EXPECT_THAT(error_of([&] { open(); }), HasSubstr("stray.jpg lies in no class's folder"));
}

TEST_F(Folder, TheNextReadableImageStandsInForABrokenOne) {
  put("train/a/1.jpg", 1), put("train/b/1.jpg", 2);
  const std::vector<std::byte> junk(100, std::byte{'x'});
  put_bytes("train/a/2.jpg", junk), put_bytes("train/b/2.jpg", junk);
  const auto dataset = open();
  testing::internal::CaptureStderr();
  EXPECT_THAT(labels(*dataset), ElementsAre(0, 1, 1, 0));
  EXPECT_EQ(image(*dataset, 1), image(*dataset, 2));
  EXPECT_EQ(dataset->broken_samples(), 2);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("a/2.jpg: neither JPEG, PNG nor WebP"));
  EXPECT_EQ(log.find("a/2.jpg"), log.rfind("a/2.jpg")) << log;

  options_.on_error = OnError::kFail;
  EXPECT_THAT(error_of([&] { labels(*open()); }), HasSubstr("a/2.jpg"));
  options_.on_error = OnError::kSkip;
  put_bytes("train/a/1.jpg", junk), put_bytes("train/b/1.jpg", junk);
  EXPECT_THAT(error_of([&] { labels(*open()); }), HasSubstr("none of the 4 images"));
}

TEST_F(Folder, BatchesAreAFunctionOfTheSeedAndOfNothingElse) {
  for (int i = 0; i < 12; ++i)
    put(fmt::format("train/{}/{}.jpg", i % 3, i), static_cast<uint64_t>(i));
  put_bytes("train/1/broken.png", std::vector<std::byte>(3));
  options_.augment = default_augmentation(spec());
  ASSERT_TRUE(options_.augment);
  options_.augment->auto_augment = "rand-m9-mstd0.5-inc1";
  options_.augment->reprob = 0.5;
  // All samples of two epochs in the order of the global batches.
  const auto samples = [&](int workers, int world) {
    std::vector<std::unique_ptr<Loader>> ranks;
    for (int rank = 0; rank < world; ++rank) {
      LoaderOptions o{.batch_size = 4 / world, .workers = workers, .seed = 9, .epochs = 2};
      o.rank = rank, o.world = world;
      ranks.push_back(std::make_unique<Loader>(open(), o));
    }
    std::vector<std::vector<float>> all;
    for (int64_t b = 0; b < 2 * ranks[0]->batches_per_epoch(); ++b) {
      std::vector<std::shared_ptr<const Batch>> batches;
      for (auto& loader : ranks) batches.push_back(loader->next());
      const int64_t pixels = batches[0]->input_type().shape.elements() * world / 4;
      for (int64_t i = 0; i < 4; ++i) {
        const auto part = batches[static_cast<size_t>(i % world)]->images().subspan(
            static_cast<size_t>(i / world * pixels), static_cast<size_t>(pixels));
        all.emplace_back(part.begin(), part.end());
      }
    }
    return all;
  };
  const auto expected = samples(0, 1);
  ASSERT_EQ(expected.size(), 24u);
  EXPECT_NE(expected[0], expected[12]);
  EXPECT_EQ(samples(1, 1), expected);
  EXPECT_EQ(samples(3, 1), expected);
  EXPECT_EQ(samples(2, 2), expected);
}

}  // namespace
}  // namespace centavo::data
