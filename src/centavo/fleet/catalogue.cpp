// Look-ups in the catalogue. catalogue_reader.cpp reads it.
#include "centavo/fleet/catalogue.h"

#include <algorithm>

#include "centavo/base/error.h"
#include "centavo/base/text.h"

namespace centavo::fleet {
namespace {

template <class T>
const T& find_named(const std::vector<T>& all, std::string_view name, std::string_view what,
                    std::string_view remedy = "") {
  auto found = std::find_if(all.begin(), all.end(), [&](const T& t) { return t.name == name; });
  if (found != all.end()) return *found;
  std::vector<std::string> names;
  for (const T& t : all) names.push_back(t.name);
  throw Error("fleet", "the catalogue has no {} '{}'{}{}", what, name, did_you_mean(name, names),
              remedy);
}

}  // namespace

std::string_view name_of(ChipKind kind) {
  switch (kind) {
    case ChipKind::kNeuron:
      return "neuron";
    case ChipKind::kGpu:
      return "gpu";
    case ChipKind::kCpu:
      return "cpu";
    case ChipKind::kOther:
      return "other";
  }
  CENTAVO_UNREACHABLE();
}

std::string_view name_of(LinkShape shape) {
  switch (shape) {
    case LinkShape::kRing:
      return "ring";
    case LinkShape::kLine:
      return "line";
    case LinkShape::kTorus:
      return "torus";
    case LinkShape::kTree:
      return "tree";
    case LinkShape::kSwitch:
      return "switch";
  }
  CENTAVO_UNREACHABLE();
}

const Instance& Catalogue::instance(std::string_view name) const {
  return find_named(instances_, name, "instance type", "; `centavo instances` lists them");
}

const Chip& Catalogue::chip(std::string_view name) const {
  for (const Chip& chip : chips_)
    if (std::find(chip.aliases.begin(), chip.aliases.end(), name) != chip.aliases.end())
      return chip;
  return find_named(chips_, name, "chip");
}

const Link& Catalogue::link(std::string_view name) const {
  return find_named(links_, name, "link");
}

std::vector<const Instance*> Catalogue::match(std::string_view globs) const {
  std::vector<const Instance*> result;
  std::vector<std::string> patterns = split(globs.empty() ? "*" : globs, ',');
  std::vector<bool> used(patterns.size());
  for (const Instance& instance : instances_) {
    bool any = false;
    for (size_t i = 0; i < patterns.size(); ++i)
      if (instance.rentable && glob_match(trim(patterns[i]), instance.name)) any = used[i] = true;
    if (any) result.push_back(&instance);
  }
  for (size_t i = 0; i < patterns.size(); ++i)
    if (!used[i]) {
      std::vector<std::string> names;
      for (const Instance& instance : instances_) names.push_back(instance.name);
      throw Error("fleet",
                  "no rentable instance type matches '{}'{}; `centavo instances` lists them",
                  patterns[i], did_you_mean(patterns[i], names));
    }
  return result;
}

}  // namespace centavo::fleet
