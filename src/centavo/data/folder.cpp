// ImageFolder: DIR/train/CLASS/... and DIR/val/CLASS/..., classes and images in timm's natural
// order.
#include <algorithm>
#include <filesystem>
#include <fmt/ranges.h>
#include <map>
#include <utility>

#include "centavo/base/error.h"
#include "centavo/base/text.h"
#include "centavo/data/classes.h"
#include "centavo/data/image_kinds.h"
#include "centavo/io/file.h"

namespace centavo::data {
namespace fs = std::filesystem;
namespace {

std::optional<fs::path> find_split(const fs::path& directory, Split split) {
  std::error_code ignored;
  for (const std::string& name : split_names(split)) {
    if (fs::is_directory(directory / name, ignored)) return directory / name;
  }
  return std::nullopt;
}

fs::path require_split(const fs::path& directory, Split split) {
  std::error_code ignored;
  if (!fs::is_directory(directory, ignored))
    throw Error("folder", "{} is no directory; check the path", directory.string());
  if (auto found = find_split(directory, split)) return *found;
  throw Error("folder", "no {} in {}; images are expected in {}/CLASS/",
              fmt::join(split_names(split), " or "), directory.string(),
              (directory / split_names(split).front()).string());
}

bool is_image(const fs::path& path) {
  const std::string extension = path.extension().string();
  return !extension.empty() && is_image_extension(std::string_view(extension).substr(1));
}

// The images below `root`, as paths from there. Throws Error for one in no class's folder.
std::vector<std::string> list_images(const fs::path& root) {
  std::vector<std::string> paths;
  std::error_code error;
  fs::recursive_directory_iterator walk(root, fs::directory_options::follow_directory_symlink,
                                        error);
  for (; !error && walk != fs::recursive_directory_iterator(); walk.increment(error)) {
    if (!is_image(walk->path())) continue;
    const fs::path path = walk->path().lexically_relative(root);
    if (!path.has_parent_path())
      throw Error("folder", "{} lies in no class's folder; move it into {}/CLASS/",
                  walk->path().string(), root.string());
    paths.push_back(path.string());
  }
  if (error) throw Error("folder", "cannot list {}: {}", root.string(), error.message());
  std::ranges::sort(paths, natural_less);
  return paths;
}

// The images in the order of the file `list`, where there is one (`centavo convert` leaves it where
// the natural order is not that of the source). Throws Error unless it lists just these images.
void reorder(std::vector<std::string>& paths, const fs::path& list) {
  if (std::error_code ignored; !fs::exists(list, ignored)) return;
  const std::string text = io::read_file(list);
  std::vector<std::string> listed = split(trim(text), '\n'), sorted = listed;
  std::ranges::sort(sorted, natural_less);
  if (sorted != paths)
    throw Error("folder", "{} does not list the {} images beside it, each once; remove it",
                list.string(), paths.size());
  paths = std::move(listed);
}

std::string class_of(const std::string& path) {
  return fs::path(path).parent_path().filename().string();
}

std::vector<std::string> classes_of(const std::vector<std::string>& paths) {
  std::vector<std::string> classes;
  for (const std::string& path : paths) {
    std::string name = class_of(path);
    if (classes.empty() || classes.back() != name) classes.push_back(std::move(name));
  }
  std::ranges::sort(classes, natural_less);
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  return classes;
}

class FolderSource : public ImageSource {
 public:
  FolderSource(const fs::path& directory, const DatasetOptions& options)
      : name_("folder:" + directory.string()),
        root_(require_split(directory, options.split)),
        paths_(list_images(root_)) {
    if (paths_.empty())
      throw Error("folder", "no images in {}; jpg, jpeg, png and webp are looked for",
                  root_.string());
    choose_classes(directory, options.split);
    num_classes_ = options.num_classes.value_or(static_cast<int64_t>(classes_.size()));
    if (num_classes_ < static_cast<int64_t>(classes_.size()))
      throw Error("folder", "{} has {} classes; pass --num-classes {} or more, or leave it out",
                  name_, classes_.size(), classes_.size());
    reorder(paths_, root_.string() + ".txt");
    label_images();
  }

  std::string name() const override { return name_; }
  int64_t size() const override { return static_cast<int64_t>(paths_.size()); }
  int64_t num_classes() const override { return num_classes_; }
  std::vector<std::string> class_names() const override { return classes_; }
  int32_t label(int64_t index) const override { return labels_[static_cast<size_t>(index)]; }
  std::string key(int64_t index) const override {
    return fs::path(path(index)).replace_extension().string();
  }
  EncodedImage encoded(int64_t index) const override {
    const fs::path file = root_ / path(index);
    return {file.extension().string().substr(1), io::read_file(file)};
  }

  std::shared_ptr<const Picture> open(int64_t index) const override {
    return picture_of(encoded(index), (root_ / path(index)).string());
  }

 private:
  const std::string& path(int64_t index) const { return paths_[static_cast<size_t>(index)]; }

  // Those of classes.txt, or else of training, whatever classes the evaluation's images have.
  void choose_classes(const fs::path& directory, Split split) {
    const fs::path list = directory / "classes.txt";
    const auto train = find_split(directory, Split::kTrain);
    if (std::error_code ignored; fs::exists(list, ignored)) {
      classes_ = read_classes(list);
      classes_of_ = list;
    } else {
      classes_ = classes_of(split == Split::kTrain || !train ? paths_ : list_images(*train));
      classes_of_ = train.value_or(root_);
    }
  }

  void label_images() {
    std::map<std::string, int32_t> label_of;
    for (const std::string& name : classes_)
      label_of.emplace(name, static_cast<int32_t>(label_of.size()));
    for (const std::string& path : paths_) {
      const auto found = label_of.find(class_of(path));
      if (found == label_of.end())
        throw Error("folder", "{} is of class '{}', which {} does not have",
                    (root_ / path).string(), class_of(path), classes_of_.string());
      labels_.push_back(found->second);
    }
  }

  std::string name_;
  fs::path root_, classes_of_;  // where the images are, and what says which classes there are
  std::vector<std::string> paths_, classes_;
  std::vector<int32_t> labels_;
  int64_t num_classes_ = 0;
};

}  // namespace

const std::vector<std::string>& split_names(Split split) {
  static const std::vector<std::string> train = {"train", "training"};
  static const std::vector<std::string> eval = {"val",  "validation", "valid",
                                                "eval", "evaluation", "test"};
  return split == Split::kTrain ? train : eval;
}

bool is_image_extension(std::string_view extension) {
  std::string lower(extension);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower == "jpg" || lower == "jpeg" || lower == "png" || lower == "webp";
}

std::shared_ptr<const ImageSource> open_folder_images(const std::string& directory,
                                                      const DatasetOptions& options) {
  return std::make_shared<FolderSource>(directory, options);
}

}  // namespace centavo::data
