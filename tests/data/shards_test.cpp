// WebDataset shards: brace patterns, what makes a sample, and damaged archives.
#include <fstream>
#include <gmock/gmock.h>

#include "tests/data/pictures.h"
#include "tests/data/tar_file.h"
#include "tests/temp_dir.h"

#include "centavo/base/error.h"
#include "centavo/data/braces.h"
#include "centavo/data/dataset.h"
#include "centavo/data/tar.h"

namespace centavo::data {
namespace {

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

TEST(Braces, StandForEveryCombination) {
  EXPECT_THAT(expand_braces("a.tar"), ElementsAre("a.tar"));
  EXPECT_THAT(expand_braces("a-{08..11}.tar"),
              ElementsAre("a-08.tar", "a-09.tar", "a-10.tar", "a-11.tar"));
  EXPECT_THAT(expand_braces("{x,y}{0..1}"), ElementsAre("x0", "x1", "y0", "y1"));
  EXPECT_THAT(error_of([] { expand_braces("a{1..2"); }), HasSubstr("not closed"));
  EXPECT_THAT(error_of([] { expand_braces("a{2..1}"); }), HasSubstr("no rising range"));
  EXPECT_THAT(error_of([] { expand_braces("a{x..y}"); }), HasSubstr("no rising range"));
  EXPECT_THAT(error_of([] { expand_braces("{0..9999999999}"); }), HasSubstr("more than"));
  EXPECT_THAT(error_of([] { expand_braces("{0..999}{0..999}{0..9}"); }), HasSubstr("more than"));
}

TEST(Tar, ListsRegularFilesInPlace) {
  const std::string long_name = std::string(90, 'd') + "/" + std::string(120, 'n');
  const std::string archive =
      tar_file({{"a.txt", "alpha"}, {long_name, std::string(3000, 'x')}, {"empty", ""}});
  const auto bytes = std::as_bytes(std::span(archive));
  const auto entries = list_tar(bytes, "t.tar");
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].path, "a.txt");
  EXPECT_EQ(entries[0].bytes.data(), bytes.data() + archive.find("alpha"));
  EXPECT_EQ(entries[1].path, long_name);
  EXPECT_EQ(entries[1].bytes.size(), 3000u);
  EXPECT_EQ(entries[2].bytes.size(), 0u);
}

TEST(Tar, DamagedArchivesAreNamedAndNeverCrash) {
  const std::string whole = tar_file({{"a.jpg", std::string(700, 'j')}, {"a.cls", "1"}});
  const auto list = [](std::string_view s) {
    return list_tar(std::as_bytes(std::span(s)), "t.tar");
  };
  EXPECT_THAT(error_of([&] { list(std::string_view(whole).substr(0, 900)); }),
              HasSubstr("cut off"));
  EXPECT_THAT(error_of([&] { list("\x1f\x8b\x08 this is gzip"); }), HasSubstr("t.tar"));
  Philox rng(1);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = whole;
    for (uint64_t flips = 1 + rng.next_below(4); flips > 0; --flips)
      damaged[rng.next_below(2048)] = static_cast<char>(rng.next_u32());
    if (i % 4 == 0) damaged.resize(rng.next_below(damaged.size()));
    error_of([&] {
      for (const TarEntry& e : list(damaged)) {
        if (e.bytes.empty()) continue;
        ASSERT_GE(reinterpret_cast<const char*>(e.bytes.data()), damaged.data());
        ASSERT_LE(reinterpret_cast<const char*>(e.bytes.data() + e.bytes.size()),
                  damaged.data() + damaged.size());
      }
    });
  }
}

class Shards : public testing::Test {
 protected:
  std::string jpeg(uint64_t seed) const {
    Philox rng(seed);
    const auto file = encode_jpeg(random_image(16, 16, 3, rng));
    return {reinterpret_cast<const char*>(file.data()), file.size()};
  }
  void put(const std::string& name, const std::vector<std::pair<std::string, std::string>>& files) {
    std::ofstream(dir_ / name, std::ios::binary) << tar_file(files);
  }
  std::shared_ptr<const Dataset> open(const std::string& pattern) {
    return open_dataset("shards:" + (dir_ / pattern).string(), options_);
  }
  static int32_t label(const Dataset& dataset, int64_t index) {
    std::vector<float> pixels(static_cast<size_t>(dataset.input_type().shape.elements()));
    int32_t result = -1;
    dataset.get({1, 0, index}, pixels.data(), &result);
    return result;
  }
  TempDir dir_;
  DatasetOptions options_;
};

TEST_F(Shards, SamplesAreFilesOfOneKey) {
  put("s-0.tar", {{"n/a.jpg", jpeg(1)},
                  {"n/a.json", "{}"},
                  {"n/a.seg.png", "mask"},
                  {"n/a.cls", "2\n"},
                  {"n/b.cls", "0"},
                  {"n/b.jpeg", jpeg(2)}});
  put("s-1.tar", {{"c.cls", "4"}, {"c.jpg", jpeg(3)}});
  const auto dataset = open("s-{0..1}.tar");
  ASSERT_EQ(dataset->size(), 3);
  EXPECT_EQ(dataset->num_classes(), 5);
  EXPECT_EQ(label(*dataset, 0), 2);
  EXPECT_EQ(label(*dataset, 1), 0);
  EXPECT_EQ(label(*dataset, 2), 4);
  EXPECT_FALSE(has_evaluation_split("shards:" + (dir_ / "s-{0..1}.tar").string()));
  EXPECT_TRUE(has_evaluation_split("shards:" + dir_.path().string()));
  options_.num_classes = 4;
  EXPECT_THAT(error_of([&] { open("s-{0..1}.tar"); }), HasSubstr("--num-classes 5"));
}

TEST_F(Shards, MistakesAreNamed) {
  put("no-class.tar", {{"a.jpg", jpeg(1)}});
  EXPECT_THAT(error_of([&] { open("no-class.tar"); }), HasSubstr("'a' has no .cls"));
  put("no-image.tar", {{"a.cls", "1"}});
  EXPECT_THAT(error_of([&] { open("no-image.tar"); }), HasSubstr("'a' has no .jpg"));
  put("bad-class.tar", {{"a.jpg", jpeg(1)}, {"a.cls", "cat"}});
  EXPECT_THAT(error_of([&] { open("bad-class.tar"); }), HasSubstr("holds 'cat'"));
  EXPECT_THAT(error_of([&] { open("none-{0..3}.tar"); }), HasSubstr("none-0.tar"));
  EXPECT_THAT(error_of([&] { open(""); }), HasSubstr("no train-*.tar"));
}

}  // namespace
}  // namespace centavo::data
