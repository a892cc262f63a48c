// The zoo's names.
#include <fmt/ranges.h>
#include <functional>
#include <map>

#include "centavo/base/text.h"
#include "centavo/models/zoo.h"

namespace centavo {
namespace {

struct Entry {
  std::string description;
  std::function<std::unique_ptr<Model>(const std::string&, const ModelOptions&)> make;
};
using Zoo = std::map<std::string, Entry>;

// An architecture's function, bound to the sizes behind one name.
template <class Config>
auto maker(std::unique_ptr<Model> (*make)(const std::string&, const Config&, const ModelOptions&),
           const Config& config) {
  return [make, config](const std::string& name, const ModelOptions& options) {
    return make(name, config, options);
  };
}

struct VitSize {
  const char* name;
  int64_t width, depth, heads;
};
constexpr VitSize kVitSizes[] = {
    {"tiny", 192, 12, 3}, {"small", 384, 12, 6}, {"base", 768, 12, 12}, {"large", 1024, 24, 16}};

void add_vits(Zoo& zoo) {
  for (const VitSize& s : kVitSizes) {
    for (int64_t patch : {16, 32}) {
      zoo[fmt::format("vit_{}_patch{}_224", s.name, patch)] = {
          fmt::format("Vision Transformer: width {}, depth {}, {} heads, patches of {}", s.width,
                      s.depth, s.heads, patch),
          maker(make_vit, VitConfig{patch, s.width, s.depth, s.heads})};
    }
    if (std::string_view(s.name) == "large") continue;
    for (bool distilled : {false, true}) {
      zoo[fmt::format("deit_{}_{}patch16_224", s.name, distilled ? "distilled_" : "")] = {
          fmt::format("DeiT{}: width {}, depth {}, {} heads, patches of 16",
                      distilled ? " with a distillation token" : "", s.width, s.depth, s.heads),
          maker(make_vit, VitConfig{16, s.width, s.depth, s.heads, distilled})};
    }
  }
}

void add_mixers(Zoo& zoo) {
  for (const VitSize& s :
       {VitSize{"s", 512, 8, 0}, VitSize{"b", 768, 12, 0}, VitSize{"l", 1024, 24, 0}}) {
    for (int64_t patch : {16, 32}) {
      zoo[fmt::format("mixer_{}{}_224", s.name, patch)] = {
          fmt::format("MLP-Mixer: width {}, depth {}, patches of {}", s.width, s.depth, patch),
          maker(make_mixer, MixerConfig{patch, s.width, s.depth})};
    }
  }
}

void add_resnets(Zoo& zoo) {
  const std::pair<const char*, ResNetConfig> resnets[] = {{"resnet18", {false, {2, 2, 2, 2}}},
                                                          {"resnet34", {false, {3, 4, 6, 3}}},
                                                          {"resnet50", {true, {3, 4, 6, 3}}},
                                                          {"resnet101", {true, {3, 4, 23, 3}}}};
  for (const auto& [name, config] : resnets)
    zoo[name] = {
        fmt::format("residual network of {} blocks", config.bottleneck ? "bottleneck" : "basic"),
        maker(make_resnet, config)};
}

void add_convnexts(Zoo& zoo) {
  const std::pair<const char*, ConvNextConfig> convnexts[] = {
      {"tiny", {{3, 3, 9, 3}, {96, 192, 384, 768}}},
      {"small", {{3, 3, 27, 3}, {96, 192, 384, 768}}},
      {"base", {{3, 3, 27, 3}, {128, 256, 512, 1024}}}};
  for (const auto& [size, config] : convnexts)
    zoo[fmt::format("convnext_{}", size)] = {
        fmt::format("ConvNeXt: stages of {} blocks, widths {}", fmt::join(config.depths, ", "),
                    fmt::join(config.widths, ", ")),
        maker(make_convnext, config)};
}

Zoo make_zoo() {
  Zoo zoo;
  add_vits(zoo);
  add_mixers(zoo);
  add_resnets(zoo);
  add_convnexts(zoo);
  zoo["mlp"] = {"multi-layer perceptron over 28x28 grey images: --hidden sets its layers",
                make_mlp};
  return zoo;
}

const Zoo& zoo() {
  static const Zoo entries = make_zoo();
  return entries;
}

}  // namespace

std::unique_ptr<Model> make_model(const std::string& name, const ModelOptions& options) {
  auto at = zoo().find(name);
  if (at != zoo().end()) return at->second.make(name, options);
  std::vector<std::string> names;
  for (const auto& [known, entry] : zoo()) names.push_back(known);
  throw Error("model", "unknown model '{}'{}; `centavo models` lists them", name,
              did_you_mean(name, names));
}

std::vector<ModelEntry> list_models() {
  std::vector<ModelEntry> list;
  for (const auto& [name, entry] : zoo()) list.push_back({name, entry.description});
  return list;
}

ImageSizes image_sizes(const std::string& model, const ModelOptions& o, int64_t image,
                       int64_t least, const std::string& remedy) {
  const ImageSizes s{o.img_size.value_or(image), o.in_chans.value_or(3),
                     o.num_classes.value_or(1000)};
  if (s.image < least)
    throw Error(model, "images of {} are too small; use {} or more{}", s.image, least, remedy);
  if (s.channels < 1 || s.classes < 1) throw Error(model, "channels and classes must be positive");
  return s;
}

void check_patches(const std::string& model, int64_t image, int64_t patch) {
  if (patch >= 1 && image >= patch && image % patch == 0) return;
  throw Error(model,
              "an image of {0} is no whole number of patches of {1}; pass --img-size or "
              "--patch-size so that it is",
              image, patch);
}

}  // namespace centavo
