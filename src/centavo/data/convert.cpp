// One loop, and a writer for each kind of storage.
#include "centavo/data/convert.h"

#include <algorithm>
#include <filesystem>
#include <unordered_set>

#include "centavo/base/error.h"
#include "centavo/base/text.h"
#include "centavo/data/classes.h"
#include "centavo/data/image_kinds.h"
#include "centavo/data/image_writer.h"
#include "centavo/io/file.h"

namespace centavo::data {
namespace fs = std::filesystem;
namespace {

// A source's name for an image as it may stand in a shard and in a folder: the last part without
// dots, made unique within its class by appended lines.
class Names {
 public:
  std::string next(const std::string& class_name, const std::string& key) {
    std::string leaf = fs::path(key).filename().string();
    std::ranges::replace(leaf, '.', '_');
    while (!used_.insert(class_name + "/" + leaf).second) leaf += "_";
    return leaf;
  }

 private:
  std::unordered_set<std::string> used_;
};

std::vector<std::string> class_names(const ImageSource& source) {
  std::vector<std::string> names = source.class_names();
  for (int64_t i = static_cast<int64_t>(names.size()); i < source.num_classes(); ++i)
    names.push_back(std::to_string(i));
  return names;
}

// classes.txt of the target: written by the first split, and the same for the others.
void save_classes(const fs::path& directory, const std::vector<std::string>& names) {
  const fs::path path = directory / "classes.txt";
  if (std::error_code ignored; !fs::exists(path, ignored)) return write_classes(path, names);
  if (read_classes(path) != names)
    throw Error("convert", "{} lists other classes than the source has; choose an empty directory",
                path.string());
}

}  // namespace

int64_t convert(const std::string& from, const std::string& to, const ConvertOptions& options) {
  DatasetOptions reading;
  reading.split = options.split;
  reading.num_classes = options.num_classes;
  const auto source = open_images(from, reading);
  const std::vector<std::string> classes = class_names(*source);
  const size_t colon = to.find(':');
  const std::string kind = to.substr(0, colon);
  if (colon == to.npos || colon + 1 == to.size())
    throw Error("convert", "'{}' is no target; write folder:DIR, shards:DIR or idx:DIR", to);
  const fs::path directory = to.substr(colon + 1);
  const auto writer = open_image_writer(kind, directory, options.split, options.shard_size);
  save_classes(directory, classes);
  Names names;
  for (int64_t i = 0; i < source->size(); ++i) {
    const std::string& class_name = classes[static_cast<size_t>(source->label(i))];
    writer->add(*source, i, class_name, names.next(class_name, source->key(i)));
    if (options.on_image) options.on_image(i + 1, source->size());
  }
  writer->finish();
  return source->size();
}

}  // namespace centavo::data
