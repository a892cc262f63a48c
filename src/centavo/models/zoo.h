// The architectures behind the zoo's names; for registry.cpp and tests.
#pragma once

#include <vector>

#include "centavo/models/model.h"

namespace centavo {

struct VitConfig {
  int64_t patch_size, embed_dim, depth, num_heads;
  bool distilled = false;  // DeiT's second token and head
};
std::unique_ptr<Model> make_vit(const std::string& name, const VitConfig& config,
                                const ModelOptions& options);
struct MixerConfig {
  int64_t patch_size, embed_dim, depth;
};
std::unique_ptr<Model> make_mixer(const std::string& name, const MixerConfig& config,
                                  const ModelOptions& options);
struct ResNetConfig {
  bool bottleneck;
  std::vector<int64_t> blocks;  // in each of the four stages
};
std::unique_ptr<Model> make_resnet(const std::string& name, const ResNetConfig& config,
                                   const ModelOptions& options);
struct ConvNextConfig {
  std::vector<int64_t> depths, widths;  // of each stage
};
std::unique_ptr<Model> make_convnext(const std::string& name, const ConvNextConfig& config,
                                     const ModelOptions& options);
// A perceptron over flattened images: Linear and GELU, hidden widths 256 and 128 unless given.
std::unique_ptr<Model> make_mlp(const std::string& name, const ModelOptions& options);

// What a classifier of square images takes and gives.
struct ImageSizes {
  int64_t image, channels, classes;
  Shape input() const { return {channels, image, image}; }
};
// From the options, with 3 channels and 1000 classes unless given. Throws Error for what is not
// positive and, with `remedy`, for an image smaller than `least`.
ImageSizes image_sizes(const std::string& model, const ModelOptions& options, int64_t image,
                       int64_t least, const std::string& remedy = "");
// Throws Error unless an image is a whole number of patches high and wide.
void check_patches(const std::string& model, int64_t image, int64_t patch);

}  // namespace centavo
