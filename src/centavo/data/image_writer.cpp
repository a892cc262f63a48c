// The three writers. A folder whose natural order is not the images' gets a list that says theirs.
#include "centavo/data/image_writer.h"

#include <algorithm>
#include <archive.h>
#include <archive_entry.h>
#include <fmt/ranges.h>
#include <optional>
#include <utility>
#include <vector>

#include "centavo/base/error.h"
#include "centavo/base/text.h"
#include "centavo/data/idx_file.h"
#include "centavo/data/image_kinds.h"
#include "centavo/io/file.h"

namespace centavo::data {
namespace fs = std::filesystem;
namespace {

void require_absent(const fs::path& path) {
  std::error_code ignored;
  if (fs::exists(path, ignored))
    throw Error("convert", "{} is there already; remove it or choose another directory",
                path.string());
}

class FolderWriter : public ImageWriter {
 public:
  FolderWriter(const fs::path& directory, const std::string& split)
      : root_(directory / split), list_(directory / (split + ".txt")) {
    require_absent(root_);
    require_absent(list_);
    io::make_output_directory(root_);
  }

  void add(const ImageSource& source, int64_t index, const std::string& class_name,
           const std::string& name) override {
    if (std::error_code error; !fs::create_directories(root_ / class_name, error) && error)
      throw Error("convert", "cannot make {}: {}", (root_ / class_name).string(), error.message());
    const EncodedImage image = source.encoded(index);
    paths_.push_back(class_name + "/" + name + "." + image.extension);
    io::AtomicFile file(root_ / paths_.back());
    file.write(image.bytes);
    file.commit();
  }

  void finish() override {
    if (!std::ranges::is_sorted(paths_, natural_less))
      io::atomic_write_file(list_, fmt::format("{}\n", fmt::join(paths_, "\n")));
  }

 private:
  fs::path root_, list_;
  std::vector<std::string> paths_;
};

class ShardWriter : public ImageWriter {
 public:
  ShardWriter(fs::path directory, std::string split, int64_t shard_size)
      : directory_(std::move(directory)), split_(std::move(split)), shard_size_(shard_size) {
    if (shard_size < 1) throw Error("convert", "{} samples a shard; at least 1", shard_size);
    require_absent(path(0));
    io::make_output_directory(directory_);
  }

  void add(const ImageSource& source, int64_t index, const std::string& class_name,
           const std::string& name) override {
    if (!archive_ || count_ % shard_size_ == 0) next_shard();
    const EncodedImage image = source.encoded(index);
    const std::string key = class_name + "/" + name;
    // A dot in the class's name does not end the key: only those of the file's own name count.
    put(key + "." + image.extension, image.bytes);
    put(key + ".cls", std::to_string(source.label(index)));
    ++count_;
  }

  void finish() override { close_shard(); }

 private:
  struct Free {
    void operator()(archive* a) const { archive_write_free(a); }
  };

  fs::path path(int64_t shard) const {
    return directory_ / fmt::format("{}-{:06}.tar", split_, shard);
  }

  void check(int code) const {
    if (code == ARCHIVE_OK || code == ARCHIVE_WARN) return;
    throw Error("convert", "cannot write {}: {}", current_.string(),
                archive_error_string(archive_.get()));
  }

  void next_shard() {
    close_shard();
    current_ = path(count_ / shard_size_);
    archive_.reset(archive_write_new());
    if (!archive_) throw std::bad_alloc();
    check(archive_write_set_format_pax_restricted(archive_.get()));
    check(archive_write_open_filename(archive_.get(), (current_.string() + ".unfinished").c_str()));
  }

  void close_shard() {
    if (!archive_) return;
    check(archive_write_close(archive_.get()));
    archive_.reset();
    fs::rename(current_.string() + ".unfinished", current_);
  }

  void put(const std::string& path, std::string_view bytes) {
    const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(),
                                                                         archive_entry_free);
    archive_entry_set_pathname(entry.get(), path.c_str());
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes.size()));
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0644);
    check(archive_write_header(archive_.get(), entry.get()));
    if (archive_write_data(archive_.get(), bytes.data(), bytes.size()) !=
        static_cast<la_ssize_t>(bytes.size()))
      throw Error("convert", "cannot write {}: {}", current_.string(),
                  archive_error_string(archive_.get()));
  }

  fs::path directory_, current_;
  std::string split_;
  int64_t shard_size_, count_ = 0;
  std::unique_ptr<archive, Free> archive_;
};

class IdxWriter : public ImageWriter {
 public:
  IdxWriter(const fs::path& directory, Split split)
      : directory_(directory), stem_(split == Split::kTrain ? "train" : "t10k") {
    require_absent(images_path());
    io::make_output_directory(directory_);
  }

  void add(const ImageSource& source, int64_t index, const std::string& class_name,
           const std::string& name) override {
    const auto picture = source.open(index);
    const auto refuse = [&](const std::string& why) {
      throw Error("convert", "{}/{} {}; write folder:DIR or shards:DIR instead", class_name, name,
                  why);
    };
    if (images_.dims.empty()) images_.dims = {0, picture->height(), picture->width()};
    if (picture->height() != images_.dims[1] || picture->width() != images_.dims[2])
      refuse(fmt::format("is {}x{} where idx's images are all {}x{}", picture->height(),
                         picture->width(), images_.dims[1], images_.dims[2]));
    const Image image = picture->decode(3);
    const Image grey = to_grey(image);
    if (to_rgb(grey) != image) refuse("is in colour where idx's images are grey");
    if (source.label(index) > 255) refuse("has a class above 255, which idx's bytes cannot hold");
    images_.values.insert(images_.values.end(), grey.pixels.begin(), grey.pixels.end());
    labels_.values.push_back(static_cast<uint8_t>(source.label(index)));
    ++images_.dims[0];
  }

  void finish() override {
    labels_.dims = {images_.dims[0]};
    write_idx(directory_ / (stem_ + "-labels-idx1-ubyte"), labels_);
    write_idx(images_path(), images_);
  }

 private:
  fs::path images_path() const { return directory_ / (stem_ + "-images-idx3-ubyte"); }

  fs::path directory_;
  std::string stem_;
  IdxArray images_, labels_;
};

}  // namespace

std::unique_ptr<ImageWriter> open_image_writer(const std::string& kind, const fs::path& directory,
                                               Split split, int64_t shard_size) {
  const std::string& name = split_names(split).front();
  if (kind == "folder") return std::make_unique<FolderWriter>(directory, name);
  if (kind == "shards") return std::make_unique<ShardWriter>(directory, name, shard_size);
  if (kind == "idx") return std::make_unique<IdxWriter>(directory, split);
  throw Error("convert", "cannot write '{}'{}", kind,
              did_you_mean(kind, std::vector<std::string>{"folder", "shards", "idx"}));
}

}  // namespace centavo::data
