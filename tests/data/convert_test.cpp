// Conversions keep order, labels and pixels: whatever the route, batches are equal to the bit.
#include "centavo/data/convert.h"

#include <fstream>
#include <gmock/gmock.h>

#include "tests/data/pictures.h"
#include "tests/temp_dir.h"

#include "centavo/base/error.h"
#include "centavo/data/idx_file.h"
#include "centavo/data/loader.h"

namespace centavo::data {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Everything that two epochs' batches hold, training augmented.
std::vector<float> batches(const std::string& spec, Split split, int64_t channels, int64_t size,
                           int64_t num_classes) {
  DatasetOptions options;
  options.num_classes = num_classes;
  options.split = split;
  options.channels = channels;
  options.height = options.width = size;
  if (split == Split::kTrain) {
    options.augment.emplace();
    options.augment->reprob = 0.3;
  }
  LoaderOptions loading{.batch_size = 5, .workers = 2, .seed = 3, .epochs = 2};
  Loader loader(open_dataset(spec, options), loading);
  std::vector<float> all;
  while (const auto batch = loader.next()) {
    const auto images = batch->images();
    all.insert(all.end(), images.begin(), images.end());
    for (int32_t label : batch->targets()) all.push_back(static_cast<float>(label));
  }
  EXPECT_FALSE(all.empty());
  return all;
}

class Convert : public testing::Test {
 protected:
  std::string spec(const std::string& kind, const std::string& name) const {
    return kind + ":" + (dir_ / name).string();
  }
  static void convert_both(const std::string& from, const std::string& to,
                           std::optional<int64_t> num_classes = {}) {
    for (Split split : {Split::kTrain, Split::kEval}) {
      ConvertOptions options;
      options.split = split;
      options.num_classes = num_classes;
      options.shard_size = 4;
      convert(from, to, options);
    }
  }
  template <class F>
  static std::string error_of(F&& f) {
    try {
      f();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  TempDir dir_;
};

TEST_F(Convert, IdxFolderAndShardsGiveTheSameBatches) {
  Philox rng(4);
  for (const auto& [stem, count] : {std::pair{"train", 23}, std::pair{"t10k", 11}}) {
    IdxArray images{{count, 12, 12}, {}}, labels{{count}, {}};
    for (int i = 0; i < count * 144; ++i)
      images.values.push_back(static_cast<uint8_t>(rng.next_u32()));
    // Not sorted by class, and one class without images.
    for (int i = 0; i < count; ++i) labels.values.push_back(static_cast<uint8_t>(i * 7 % 11));
    write_idx(dir_ / (std::string(stem) + "-images-idx3-ubyte"), images);
    write_idx(dir_ / (std::string(stem) + "-labels-idx1-ubyte"), labels);
  }
  const std::string idx = "idx:" + dir_.path().string(), folder = spec("folder", "f"),
                    shards = spec("shards", "s"), folder2 = spec("folder", "f2"),
                    idx2 = spec("idx", "i2");
  convert_both(idx, folder, 12);
  convert_both(folder, shards);
  convert_both(shards, folder2);
  convert_both(folder2, idx2, 12);
  for (Split split : {Split::kTrain, Split::kEval}) {
    const auto expected = batches(idx, split, 1, 12, 12);
    for (const std::string& other : {folder, shards, folder2, idx2})
      EXPECT_EQ(batches(other, split, 1, 12, 12), expected) << other;
  }
  EXPECT_EQ(open_dataset(shards)->num_classes(), 12);
}

TEST_F(Convert, PhotographsKeepTheirBytes) {
  Philox rng(5);
  for (const char* path :
       {"train/cat/img2.jpg", "train/cat/img10.jpg", "train/cat/x.y.jpg", "train/cat/img2.JPEG",
        "train/dog.v1/a.jpg", "train/ant/q.jpg", "val/dog.v1/1.jpg", "val/ant/1.jpg",
        "val/ant/2.jpg", "val/cat/9.jpg", "val/cat/8.jpg"}) {
    fs::create_directories((dir_ / path).parent_path());
    const auto jpeg = encode_jpeg(random_image(30, 40, 3, rng));
    std::ofstream(dir_ / path, std::ios::binary)
        .write(reinterpret_cast<const char*>(jpeg.data()),
               static_cast<std::streamsize>(jpeg.size()));
  }
  const std::string folder = "folder:" + dir_.path().string(), shards = spec("shards", "s"),
                    back = spec("folder", "f2");
  convert_both(folder, shards);
  EXPECT_TRUE(fs::exists(dir_ / "s/train-000001.tar"));
  convert_both(shards, back);
  for (Split split : {Split::kTrain, Split::kEval}) {
    const auto expected = batches(folder, split, 3, 16, 3);
    EXPECT_EQ(batches(shards, split, 3, 16, 3), expected);
    EXPECT_EQ(batches(back, split, 3, 16, 3), expected);
  }
  EXPECT_EQ(open_dataset(shards)->class_names(), open_dataset(folder)->class_names());

  EXPECT_THAT(error_of([&] { convert(folder, shards, {}); }), HasSubstr("is there already"));
  EXPECT_THAT(error_of([&] { convert(folder, spec("idx", "i"), {}); }), HasSubstr("in colour"));
  EXPECT_THAT(error_of([&] { convert(folder, "folder", {}); }), HasSubstr("no target"));
  EXPECT_THAT(error_of([&] { convert(folder, "shrads:x", {}); }),
              HasSubstr("did you mean 'shards'"));
  EXPECT_THAT(error_of([&] { convert("fake", shards, {}); }), HasSubstr("no images"));
}

TEST_F(Convert, AStaleListIsNamed) {
  fs::create_directories(dir_ / "train/a");
  Philox rng(6);
  const auto jpeg = encode_jpeg(random_image(8, 8, 3, rng));
  std::ofstream(dir_ / "train/a/1.jpg", std::ios::binary)
      .write(reinterpret_cast<const char*>(jpeg.data()), static_cast<std::streamsize>(jpeg.size()));
  std::ofstream(dir_ / "train.txt") << "a/1.jpg\na/2.jpg\n";
  EXPECT_THAT(error_of([&] { open_dataset("folder:" + dir_.path().string()); }),
              HasSubstr("train.txt does not list the 1 images beside it"));
}

}  // namespace
}  // namespace centavo::data
