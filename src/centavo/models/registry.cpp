// The zoo's names.
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

std::map<std::string, Entry> make_zoo() {
  std::map<std::string, Entry> zoo;
  struct VitSize {
    const char* name;
    int64_t width, depth, heads;
  };
  for (VitSize size : {VitSize{"tiny", 192, 12, 3},
                       {"small", 384, 12, 6},
                       {"base", 768, 12, 12},
                       {"large", 1024, 24, 16}}) {
    for (int64_t patch : {16, 32}) {
      VitConfig config{patch, size.width, size.depth, size.heads};
      zoo[fmt::format("vit_{}_patch{}_224", size.name, patch)] = {
          fmt::format("Vision Transformer: width {}, depth {}, {} heads, patches of {}", size.width,
                      size.depth, size.heads, patch),
          [config](const std::string& name, const ModelOptions& options) {
            return make_vit(name, config, options);
          }};
    }
  }
  const std::pair<const char*, ResNetConfig> resnets[] = {{"resnet18", {false, {2, 2, 2, 2}}},
                                                          {"resnet34", {false, {3, 4, 6, 3}}},
                                                          {"resnet50", {true, {3, 4, 6, 3}}},
                                                          {"resnet101", {true, {3, 4, 23, 3}}}};
  for (const auto& [resnet, config] : resnets) {
    zoo[resnet] = {
        fmt::format("residual network of {} blocks", config.bottleneck ? "bottleneck" : "basic"),
        [config = config](const std::string& name, const ModelOptions& options) {
          return make_resnet(name, config, options);
        }};
  }
  zoo["mlp"] = {"multi-layer perceptron over 28x28 grey images: --hidden sets its layers",
                make_mlp};
  return zoo;
}

const std::map<std::string, Entry>& zoo() {
  static const std::map<std::string, Entry> entries = make_zoo();
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

}  // namespace centavo
