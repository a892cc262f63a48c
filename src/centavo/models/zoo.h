// The architectures behind the zoo's names; for registry.cpp and tests.
#pragma once

#include <vector>

#include "centavo/models/model.h"

namespace centavo {

struct VitConfig {
  int64_t patch_size, embed_dim, depth, num_heads;
};
std::unique_ptr<Model> make_vit(const std::string& name, const VitConfig& config,
                                const ModelOptions& options);
struct ResNetConfig {
  bool bottleneck;
  std::vector<int64_t> blocks;  // in each of the four stages
};
std::unique_ptr<Model> make_resnet(const std::string& name, const ResNetConfig& config,
                                   const ModelOptions& options);
// A perceptron over flattened images: Linear and GELU, hidden widths 256 and 128 unless given.
std::unique_ptr<Model> make_mlp(const std::string& name, const ModelOptions& options);

}  // namespace centavo
