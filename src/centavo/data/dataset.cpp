// From a spec to its dataset.
#include "centavo/data/dataset.h"

#include <algorithm>

#include "centavo/base/text.h"
#include "centavo/data/datasets.h"

namespace centavo::data {
namespace {

struct Kind {
  std::string name;
  const char* argument;  // what stands behind the colon; null if nothing may
  std::shared_ptr<const Dataset> (*open)(const std::string& argument, const DatasetOptions&);
  bool photographs = false;  // augmented unless told otherwise
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> table = {
      {"fake", nullptr,
       [](const std::string&, const DatasetOptions& options) { return open_fake(options); }},
      {"idx", "DIR", open_idx},
      {"folder", "DIR", open_folder, true},
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
  return kind->open(argument, options);
}

}  // namespace centavo::data
