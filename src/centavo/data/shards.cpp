// WebDataset shards: tar archives of KEY.jpg and KEY.cls, mapped into memory and read at random, so
// that they are shuffled and dealt to ranks as any other data.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include "centavo/base/error.h"
#include "centavo/base/text.h"
#include "centavo/data/braces.h"
#include "centavo/data/classes.h"
#include "centavo/data/image_kinds.h"
#include "centavo/data/tar.h"
#include "centavo/io/file.h"

namespace centavo::data {
namespace fs = std::filesystem;
namespace {

// A directory stands for its shards of a split; anything else is a brace pattern.
std::vector<std::string> shard_paths(const std::string& spec, Split split) {
  std::error_code ignored;
  if (!fs::is_directory(spec, ignored)) return expand_braces(spec);
  std::vector<std::string> paths;
  for (const std::string& name : split_names(split)) {
    for (const auto& entry : fs::directory_iterator(spec)) {
      if (glob_match(name + "-*.tar", entry.path().filename().string()))
        paths.push_back(entry.path().string());
    }
    if (!paths.empty()) break;
  }
  if (paths.empty())
    throw Error("shards", "no {}-*.tar in {}; check the path, or write a pattern such as {}",
                split_names(split).front(), spec, "DIR/name-{000000..000009}.tar");
  std::ranges::sort(paths, natural_less);
  return paths;
}

struct Sample {
  std::string key;
  std::string extension;  // of the image; empty until there is one
  std::span<const std::byte> image;
  int32_t label = -1;
};

// A path's sample and its field: what stands before and behind the first dot of the file's name.
std::pair<std::string, std::string> split_path(const std::string& path) {
  const size_t slash = path.rfind('/'), begin = slash == path.npos ? 0 : slash + 1;
  const size_t dot = path.find('.', begin);
  if (dot == path.npos) return {path, ""};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

int32_t read_label(const TarEntry& entry, const std::string& shard) {
  const std::string_view text =
      trim({reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size()});
  int32_t label = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), label);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || label < 0)
    throw Error("shards", "{}: {} holds '{}', not a class's number", shard, entry.path,
                text.substr(0, 20));
  return label;
}

// The samples of one archive; files of other kinds (.json, .txt) are passed over.
void append_samples(std::span<const std::byte> archive, const std::string& shard,
                    std::vector<Sample>& samples) {
  const size_t begin = samples.size();
  for (const TarEntry& entry : list_tar(archive, shard)) {
    auto [key, field] = split_path(entry.path);
    if (samples.size() == begin || samples.back().key != key) samples.push_back({key, "", {}, -1});
    if (field == "cls") {
      samples.back().label = read_label(entry, shard);
    } else if (is_image_extension(field)) {
      samples.back().extension = field;
      samples.back().image = entry.bytes;
    }
  }
  for (size_t i = begin; i < samples.size(); ++i) {
    const bool pictured = !samples[i].extension.empty();
    if (pictured && samples[i].label >= 0) continue;
    throw Error("shards", "{}: sample '{}' has no {}", shard, samples[i].key,
                pictured ? ".cls with its class" : ".jpg, .png or .webp");
  }
}

class ShardSource : public ImageSource {
 public:
  ShardSource(const std::string& spec, const DatasetOptions& options) : name_("shards:" + spec) {
    const std::vector<std::string> paths = shard_paths(spec, options.split);
    for (const std::string& path : paths) {
      shards_.push_back(std::make_unique<io::MappedFile>(path));
      append_samples(shards_.back()->bytes(), path, samples_);
    }
    const fs::path classes = fs::path(paths.front()).parent_path() / "classes.txt";
    if (std::error_code ignored; fs::exists(classes, ignored)) classes_ = read_classes(classes);
    count_classes(options.num_classes);
  }

  std::string name() const override { return name_; }
  int64_t size() const override { return static_cast<int64_t>(samples_.size()); }
  int64_t num_classes() const override { return num_classes_; }
  std::vector<std::string> class_names() const override { return classes_; }
  int32_t label(int64_t index) const override { return sample(index).label; }
  std::string key(int64_t index) const override { return sample(index).key; }
  EncodedImage encoded(int64_t index) const override {
    const Sample& s = sample(index);
    return {s.extension, {reinterpret_cast<const char*>(s.image.data()), s.image.size()}};
  }
  std::shared_ptr<const Picture> open(int64_t index) const override {
    const Sample& s = sample(index);
    return open_picture(s.image, name_ + "/" + s.key + "." + s.extension);
  }

 private:
  const Sample& sample(int64_t index) const { return samples_[static_cast<size_t>(index)]; }

  void count_classes(std::optional<int64_t> wanted) {
    const auto label = [](const Sample& s) { return s.label; };
    const auto highest = std::ranges::max_element(samples_, {}, label);
    const int64_t found = highest == samples_.end() ? 0 : highest->label + 1;
    num_classes_ = wanted.value_or(std::max(found, static_cast<int64_t>(classes_.size())));
    if (found > num_classes_)
      throw Error("shards", "{}: the class of '{}' is {}; pass --num-classes {} or more", name_,
                  highest->key, highest->label, found);
  }

  std::string name_;
  std::vector<std::unique_ptr<io::MappedFile>> shards_;
  std::vector<Sample> samples_;
  std::vector<std::string> classes_;
  int64_t num_classes_ = 0;
};

}  // namespace

std::shared_ptr<const ImageSource> open_shard_images(const std::string& spec,
                                                     const DatasetOptions& options) {
  return std::make_shared<ShardSource>(spec, options);
}

}  // namespace centavo::data
