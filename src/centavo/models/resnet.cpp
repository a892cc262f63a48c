// ResNet as in timm, with its parameter names. He et al., "Deep residual learning for image
// recognition" (2016). Activations are channels-last inside; images come as [N, C, H, W] like
// everywhere.
#include <optional>

#include "centavo/models/zoo.h"
#include "centavo/nn/layers.h"
#include "centavo/ops/ops.h"

namespace centavo {
namespace {

// Basic: 3x3, 3x3. Bottleneck: 1x1, 3x3 (with the stride), 1x1 to four times the width.
class ResidualBlock {
 public:
  ResidualBlock(ParameterList& list, const std::string& name, bool bottleneck, int64_t in,
                int64_t width, int64_t stride)
      : name_(name) {
    ParameterList::Prefix prefix(list, name);
    const int64_t out = bottleneck ? 4 * width : width;
    auto add = [&](int64_t from, int64_t to, int64_t kernel, int64_t step, bool last) {
      const std::string number = std::to_string(convs_.size() + 1);
      convs_.emplace_back(list, "conv" + number, from, to, kernel, step, kernel / 2);
      norms_.emplace_back(list, "bn" + number, to,
                          last ? 0.0 : 1.0);  // the last starts at zero: the block is the identity
    };
    if (bottleneck) {
      add(in, width, 1, 1, false);
      add(width, width, 3, stride, false);
      add(width, out, 1, 1, true);
    } else {
      add(in, width, 3, stride, false);
      add(width, out, 3, 1, true);
    }
    if (stride != 1 || in != out) {
      downsample_.emplace(list, "downsample.0", in, out, 1, stride);
      downsample_norm_.emplace(list, "downsample.1", out);
    }
  }

  Tensor forward(Context& ctx, const Tensor& x) const {
    NameScope scope(name_);
    Tensor y = x;
    for (size_t i = 0; i < convs_.size(); ++i) {
      y = norms_[i].forward(ctx, convs_[i].forward(ctx, y));
      if (i + 1 < convs_.size()) y = relu(y);
    }
    Tensor shortcut =
        downsample_ ? downsample_norm_->forward(ctx, downsample_->forward(ctx, x)) : x;
    return relu(y + shortcut);
  }

 private:
  std::string name_;
  std::vector<nn::Conv2d> convs_;
  std::vector<nn::BatchNorm> norms_;
  std::optional<nn::Conv2d> downsample_;
  std::optional<nn::BatchNorm> downsample_norm_;
};

class ResNet : public Model {
 public:
  ResNet(const std::string& name, const ResNetConfig& config, const Shape& input, int64_t classes,
         bool small_stem)
      : Model(name, input, classes),
        small_stem_(small_stem),
        conv1_(parameters_, "conv1", input[0], 64, small_stem ? 3 : 7, small_stem ? 1 : 2,
               small_stem ? 1 : 3),
        bn1_(parameters_, "bn1", 64),
        blocks_(make_blocks(parameters_, config)),
        fc_(parameters_, "fc", config.bottleneck ? 2048 : 512, classes) {}

  Tensor forward(Context& ctx, const Tensor& images) const override {
    Tensor x = transpose(convert(images, ctx.activations()), {0, 2, 3, 1});
    x = relu(bn1_.forward(ctx, conv1_.forward(ctx, x)));
    if (!small_stem_) x = max_pool2d(x, {{3, 3}, {2, 2}, {1, 1}, {1, 1}});
    for (const ResidualBlock& block : blocks_) x = block.forward(ctx, x);
    return fc_.forward(ctx, nn::global_average_pool(x));
  }

 private:
  static std::vector<ResidualBlock> make_blocks(ParameterList& list, const ResNetConfig& config) {
    std::vector<ResidualBlock> blocks;
    int64_t in = 64;
    for (size_t stage = 0; stage < config.blocks.size(); ++stage) {
      const int64_t width = int64_t{64} << stage;
      for (int64_t b = 0; b < config.blocks[stage]; ++b) {
        const int64_t stride = stage > 0 && b == 0 ? 2 : 1;
        blocks.emplace_back(list, fmt::format("layer{}.{}", stage + 1, b), config.bottleneck, in,
                            width, stride);
        in = config.bottleneck ? 4 * width : width;
      }
    }
    return blocks;
  }

  bool small_stem_;
  nn::Conv2d conv1_;
  nn::BatchNorm bn1_;
  std::vector<ResidualBlock> blocks_;
  nn::Linear fc_;
};

}  // namespace

std::unique_ptr<Model> make_resnet(const std::string& name, const ResNetConfig& config,
                                   const ModelOptions& o) {
  const ImageSizes sizes =
      image_sizes(name, o, 224, o.small_stem ? 8 : 32, o.small_stem ? "" : ", or --small-stem");
  return std::make_unique<ResNet>(name, config, sizes.input(), sizes.classes, o.small_stem);
}

}  // namespace centavo
