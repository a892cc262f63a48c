// From a spec to its dataset.
#include "centavo/data/dataset.h"

#include <algorithm>
#include <filesystem>

#include "centavo/base/text.h"
#include "centavo/data/datasets.h"
#include "centavo/data/image_dataset.h"
#include "centavo/data/image_kinds.h"

namespace centavo::data {
namespace {

struct Kind {
  std::string name;
  const char* argument;  // what stands behind the colon; null if nothing may
  // One of them is null: data are images or something else.
  std::shared_ptr<const Dataset> (*open)(const std::string& argument, const DatasetOptions&);
  std::shared_ptr<const ImageSource> (*images)(const std::string& argument, const DatasetOptions&);
  bool photographs = false;  // augmented unless told otherwise
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> table = {
      {"fake", nullptr,
       [](const std::string&, const DatasetOptions& options) { return open_fake(options); },
       nullptr},
      {"idx", "DIR", nullptr, open_idx_images},
      {"folder", "DIR", nullptr, open_folder_images, true},
      {"shards", "DIR", nullptr, open_shard_images, true},
      {"text", "FILE", open_text, nullptr},
  };
  return table;
}

void check(const DatasetOptions& options) {
  for (auto extent : {options.channels, options.height, options.width}) {
    if (extent && (*extent < 1 || *extent > 1 << 16))
      throw Error("dataset", "an image extent of {} is outside 1..65536", *extent);
  }
  if (options.num_classes && *options.num_classes < 1)
    throw Error("dataset", "{} classes; there must be at least one", *options.num_classes);
  if (options.length && *options.length < 1)
    throw Error("dataset", "length {}; there must be at least one sample", *options.length);
}

// The kind that `spec` begins with and what follows the colon. Throws Error for an unknown kind.
std::pair<const Kind*, std::string> parse(std::string_view spec) {
  const size_t colon = spec.find(':');
  const std::string name(spec.substr(0, colon));
  std::string argument(colon == spec.npos ? "" : spec.substr(colon + 1));
  const auto kind = std::ranges::find(kinds(), name, &Kind::name);
  if (kind == kinds().end()) {
    std::vector<std::string> names;
    for (const Kind& k : kinds()) names.push_back(k.name);
    throw Error("dataset", "unknown dataset '{}'{}", spec, did_you_mean(name, names));
  }
  if ((kind->argument == nullptr) != argument.empty()) {
    throw Error("dataset", "'{}' is written {}{}{}", spec, name, kind->argument ? ":" : "",
                kind->argument ? kind->argument : "");
  }
  return {&*kind, std::move(argument)};
}

// What a model gets: the wanted shape, or the images' own, or ImageNet's.
Shape sample_shape(const ImageSource& source, const DatasetOptions& options) {
  const std::optional<Shape> own = source.common_shape();
  const Shape fallback = own.value_or(Shape{3, 224, 224});
  const Shape shape{options.channels.value_or(fallback[0]), options.height.value_or(fallback[1]),
                    options.width.value_or(fallback[2])};
  if (own && (shape[1] != fallback[1] || shape[2] != fallback[2])) {
    throw Error("dataset", "the images of {} are {}x{}, the model wants {}x{}; pass --img-size {}",
                source.name(), fallback[1], fallback[2], shape[1], shape[2], fallback[1]);
  }
  return shape;
}

}  // namespace

Augmentation Augmentation::none() {
  Augmentation a;
  a.scale = a.ratio = {1, 1};
  a.interpolation = Interpolation::kBicubic;
  a.hflip = a.color_jitter = 0;
  return a;
}

std::optional<Augmentation> default_augmentation(std::string_view spec) {
  if (!parse(spec).first->photographs) return std::nullopt;
  return Augmentation();
}

std::shared_ptr<const Dataset> open_dataset(std::string_view spec, const DatasetOptions& options) {
  check(options);
  const auto [kind, argument] = parse(spec);
  if (kind->open) return kind->open(argument, options);
  auto source = kind->images(argument, options);
  const Shape shape = sample_shape(*source, options);
  return make_image_dataset(std::move(source), shape, options);
}

std::shared_ptr<const ImageSource> open_images(std::string_view spec,
                                               const DatasetOptions& options) {
  const auto [kind, argument] = parse(spec);
  if (!kind->images)
    throw Error("dataset", "{} holds no images; folder, idx and shards do", kind->name);
  return kind->images(argument, options);
}

bool has_evaluation_split(std::string_view spec) {
  const auto [kind, argument] = parse(spec);
  std::error_code ignored;
  return kind->name != "shards" || std::filesystem::is_directory(argument, ignored);
}

}  // namespace centavo::data
