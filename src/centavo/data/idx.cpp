// The MNIST family: two IDX files a split, one of images and one of labels, held in memory.
#include <algorithm>
#include <cstring>
#include <zlib.h>

#include "centavo/base/text.h"
#include "centavo/data/idx_file.h"
#include "centavo/data/image_kinds.h"
#include "centavo/io/file.h"

namespace centavo::data {
namespace fs = std::filesystem;
namespace {

template <class... Args>
[[noreturn]] void damaged(const fs::path& path, fmt::format_string<Args...> format,
                          Args&&... args) {
  throw Error("idx", "{}: {}; download it again", path.string(),
              fmt::format(format, std::forward<Args>(args)...));
}

// zlib's reader; passes plain files through.
class GzipReader {
 public:
  explicit GzipReader(const fs::path& path) : path_(path), file_(gzopen(path.c_str(), "rb")) {
    if (file_ == nullptr)
      throw Error("idx", "cannot open {}: {}", path.string(), std::strerror(errno));
    gzbuffer(file_, 1 << 17);
  }
  ~GzipReader() { gzclose(file_); }
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  // Appends up to `count` bytes; fewer only at the end of the file.
  void read(std::vector<uint8_t>& out, uint64_t count) {
    // In pieces, so that a damaged header cannot make us allocate what the file does not have.
    constexpr uint64_t kPiece = 1 << 20;
    while (count > 0) {
      const size_t old = out.size(), piece = std::min(count, kPiece);
      out.resize(old + piece);
      const int n = gzread(file_, out.data() + old, static_cast<unsigned>(piece));
      int code = Z_OK;
      const char* message = gzerror(file_, &code);
      if (n < 0 || code == Z_BUF_ERROR)
        damaged(path_, "the compressed data is damaged or cut off ({})", message);
      out.resize(old + static_cast<size_t>(n));
      if (static_cast<size_t>(n) < piece) return;
      count -= piece;
    }
  }

 private:
  fs::path path_;
  gzFile file_;
};

uint32_t big_endian(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | p[3];
}

}  // namespace

IdxArray read_idx(const fs::path& path) {
  GzipReader reader(path);
  std::vector<uint8_t> header;
  reader.read(header, 4);
  // Two zero bytes, 8 for "unsigned byte", the number of dimensions.
  if (header.size() < 4 || header[0] != 0 || header[1] != 0 || header[2] != 8 || header[3] < 1 ||
      header[3] > 4) {
    damaged(path, "not an IDX file of bytes");
  }
  const size_t rank = header[3];
  reader.read(header, 4 * rank);
  if (header.size() < 4 + 4 * rank) damaged(path, "cut off within the header");
  IdxArray array;
  uint64_t count = 1;
  for (size_t i = 0; i < rank; ++i) {
    const uint32_t extent = big_endian(header.data() + 4 + 4 * i);
    array.dims.push_back(extent);
    if (extent == 0 || __builtin_mul_overflow(count, extent, &count))
      damaged(path, "an impossible extent of {}", extent);
  }
  reader.read(array.values, count);
  if (array.values.size() < count)
    damaged(path, "cut off: the header promises {} bytes, there are {}",
            with_thousands(static_cast<int64_t>(count)),
            with_thousands(static_cast<int64_t>(array.values.size())));
  std::vector<uint8_t> excess;
  reader.read(excess, 1);
  if (!excess.empty()) damaged(path, "bytes behind the {} the header promises", count);
  return array;
}

namespace {

// DIR/train-images-idx3-ubyte, also with a dot before "idx3" as some copies have it, also with .gz.
fs::path find_file(const fs::path& directory, const std::string& stem, const std::string& suffix) {
  std::error_code error;
  for (const char* separator : {"-", "."}) {
    for (const char* extension : {"", ".gz"}) {
      fs::path path = directory / (stem + separator + suffix + extension);
      if (fs::exists(path, error)) return path;
    }
  }
  throw Error("idx",
              "no {}-{} (or .gz) in {}; Debian's dataset-fashion-mnist has one in "
              "/usr/share/datasets/fashion-mnist",
              stem, suffix, directory.string());
}

class IdxSource : public ImageSource {
 public:
  IdxSource(const fs::path& directory, Split split, int64_t num_classes)
      : name_("idx:" + directory.string()), num_classes_(num_classes) {
    const std::string stem = split == Split::kTrain ? "train" : "t10k";
    const fs::path image_path = find_file(directory, stem + "-images", "idx3-ubyte");
    const fs::path label_path = find_file(directory, stem + "-labels", "idx1-ubyte");
    images_ = read_idx(image_path);
    labels_ = read_idx(label_path);
    if (images_.dims.size() != 3)
      damaged(image_path, "{} dimensions, images have 3", images_.dims.size());
    if (labels_.dims.size() != 1)
      damaged(label_path, "{} dimensions, labels have 1", labels_.dims.size());
    if (images_.dims[0] != labels_.dims[0]) {
      throw Error("idx", "{} has {} images but {} has {} labels; download both again",
                  image_path.string(), images_.dims[0], label_path.string(), labels_.dims[0]);
    }
    check_labels(label_path);
  }

  std::string name() const override { return name_; }
  int64_t size() const override { return images_.dims[0]; }
  int64_t num_classes() const override { return num_classes_; }
  int32_t label(int64_t index) const override { return labels_.values[static_cast<size_t>(index)]; }
  std::string key(int64_t index) const override { return fmt::format("{:08}", index); }
  std::optional<Shape> common_shape() const override {
    return Shape{1, images_.dims[1], images_.dims[2]};
  }
  EncodedImage encoded(int64_t index) const override { return {"png", encode_png(pixels(index))}; }
  std::shared_ptr<const Picture> open(int64_t index) const override {
    return picture_of(pixels(index));
  }

 private:
  Image pixels(int64_t index) const {
    Image image(images_.dims[1], images_.dims[2], 1);
    std::copy_n(images_.values.data() + static_cast<size_t>(index) * image.pixels.size(),
                image.pixels.size(), image.pixels.data());
    return image;
  }

  void check_labels(const fs::path& path) const {
    for (size_t i = 0; i < labels_.values.size(); ++i) {
      const int label = labels_.values[i];
      if (label < num_classes_) continue;
      throw Error("idx",
                  "{}: label {} of sample {} is outside 0..{}; pass --num-classes {} if the data "
                  "has so many classes, "
                  "or download it again",
                  path.string(), label, i, num_classes_ - 1, label + 1);
    }
  }

  std::string name_;
  int64_t num_classes_;
  IdxArray images_, labels_;
};

}  // namespace

void write_idx(const fs::path& path, const IdxArray& array) {
  std::string header = {0, 0, 8, static_cast<char>(array.dims.size())};
  for (int64_t extent : array.dims) {
    for (int shift : {24, 16, 8, 0}) header += static_cast<char>(extent >> shift);
  }
  io::AtomicFile file(path);
  file.write(header);
  file.write(std::as_bytes(std::span(array.values)));
  file.commit();
}

std::shared_ptr<const ImageSource> open_idx_images(const std::string& directory,
                                                   const DatasetOptions& options) {
  return std::make_shared<IdxSource>(directory, options.split, options.num_classes.value_or(10));
}

}  // namespace centavo::data
