// Model: a named architecture with its parameters and its forward pass; and the zoo, by timm's
// names.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "centavo/nn/parameters.h"

namespace centavo {

class Model {
 public:
  virtual ~Model() = default;
  const std::string& name() const { return name_; }
  const ParameterList& parameters() const { return parameters_; }
  // One sample's input: [C, H, W] for images.
  const Shape& input_shape() const { return input_shape_; }
  int64_t num_classes() const { return num_classes_; }
  // Records the forward pass of a batch: images f32 [N, C, H, W] -> logits [N, classes] in the
  // activations' dtype.
  virtual Tensor forward(Context& ctx, const Tensor& input) const = 0;

 protected:
  Model(std::string name, Shape input_shape, int64_t num_classes)
      : name_(std::move(name)), input_shape_(std::move(input_shape)), num_classes_(num_classes) {}
  ParameterList parameters_;

 private:
  std::string name_;
  Shape input_shape_;
  int64_t num_classes_;
};

// What a user may change about a model; what is left out keeps the model's own value.
struct ModelOptions {
  std::optional<int64_t> img_size, in_chans, num_classes;  // any model
  std::optional<int64_t> patch_size, embed_dim, depth;     // vit, deit, mixer
  std::optional<int64_t> num_heads;                        // vit, deit
  std::optional<double> mlp_ratio;                         // vit, deit
  bool small_stem = false;                                 // resnet: for small images
  std::vector<int64_t> hidden;                             // mlp: widths of its hidden layers
  double drop_rate = 0;
};

// Throws Error for an unknown name (with the nearest), and for options that do not fit (an image
// that is no whole number of patches, a width that the heads do not divide).
std::unique_ptr<Model> make_model(const std::string& name, const ModelOptions& options = {});

struct ModelEntry {
  std::string name;
  std::string description;
};
// The zoo in alphabetical order.
std::vector<ModelEntry> list_models();

}  // namespace centavo
