// ConvNeXt as in timm: 7x7 depthwise convolutions, channels-last LayerNorm, layer scale. Liu et
// al., "A ConvNet for the 2020s" (2022).
#include <optional>

#include "centavo/models/zoo.h"
#include "centavo/nn/layers.h"
#include "centavo/ops/ops.h"

namespace centavo {
namespace {

const Init kWeights = Init::truncated_normal(0.02);

// x + gamma * mlp(norm(conv_dw(x))). Its parameters' names are relative to the list's prefix.
class ConvNextBlock {
 public:
  ConvNextBlock(ParameterList& list, const std::string& name, int64_t width)
      : name_(name),
        gamma_(list.add("gamma", {width}, Init::constant(1e-6))),
        conv_dw_(list, "conv_dw", width, width, 7, conv_options(1, 3, width), kWeights,
                 Init::zeros()),
        norm_(list, "norm", width),
        mlp_(list, "mlp", width, 4 * width, kWeights) {}

  Tensor forward(Context& ctx, const Tensor& x) const {
    NameScope scope(name_);
    Tensor y = mlp_.forward(ctx, norm_.forward(ctx, conv_dw_.forward(ctx, x)), {});
    return x + y * ctx.cast(gamma_);
  }

 private:
  std::string name_;
  Param gamma_;
  nn::Conv2d conv_dw_;
  nn::LayerNorm norm_;
  nn::Mlp mlp_;
};

// Halves the image (but in the first stage), then its blocks.
class ConvNextStage {
 public:
  ConvNextStage(ParameterList& list, const std::string& name, int64_t in, int64_t width,
                int64_t depth)
      : name_(name) {
    ParameterList::Prefix prefix(list, name);
    if (in != width) {
      downsample_norm_.emplace(list, "downsample.0", in);
      downsample_.emplace(list, "downsample.1", in, width, 2, conv_options(2, 0), kWeights,
                          Init::zeros());
    }
    for (int64_t i = 0; i < depth; ++i) {
      const std::string block = fmt::format("blocks.{}", i);
      ParameterList::Prefix block_prefix(list, block);
      blocks_.emplace_back(list, block, width);
    }
  }

  Tensor forward(Context& ctx, Tensor x) const {
    NameScope scope(name_);
    if (downsample_) x = downsample_->forward(ctx, downsample_norm_->forward(ctx, x));
    for (const ConvNextBlock& block : blocks_) x = block.forward(ctx, x);
    return x;
  }

 private:
  std::string name_;
  std::optional<nn::LayerNorm> downsample_norm_;
  std::optional<nn::Conv2d> downsample_;
  std::vector<ConvNextBlock> blocks_;
};

class ConvNext : public Model {
 public:
  ConvNext(const std::string& name, const ConvNextConfig& config, const Shape& input,
           int64_t classes, double dropout)
      : Model(name, input, classes),
        stem_(parameters_, "stem.0", input[0], config.widths[0], 4, conv_options(4, 0), kWeights,
              Init::zeros()),
        stem_norm_(parameters_, "stem.1", config.widths[0]),
        stages_(make_stages(parameters_, config)),
        norm_(parameters_, "head.norm", config.widths.back()),
        fc_(parameters_, "head.fc", config.widths.back(), classes, kWeights, Init::zeros()),
        dropout_{dropout} {}

  Tensor forward(Context& ctx, const Tensor& images) const override {
    Tensor x = transpose(convert(images, ctx.activations()), {0, 2, 3, 1});
    x = stem_norm_.forward(ctx, stem_.forward(ctx, x));
    for (const ConvNextStage& stage : stages_) x = stage.forward(ctx, x);
    x = norm_.forward(ctx, nn::global_average_pool(x));
    return fc_.forward(ctx, dropout_.forward(ctx, x));
  }

 private:
  static std::vector<ConvNextStage> make_stages(ParameterList& list, const ConvNextConfig& config) {
    std::vector<ConvNextStage> stages;
    for (size_t i = 0; i < config.widths.size(); ++i)
      stages.emplace_back(list, fmt::format("stages.{}", i), config.widths[i > 0 ? i - 1 : 0],
                          config.widths[i], config.depths[i]);
    return stages;
  }

  nn::Conv2d stem_;
  nn::LayerNorm stem_norm_;
  std::vector<ConvNextStage> stages_;
  nn::LayerNorm norm_;
  nn::Linear fc_;
  nn::Dropout dropout_;
};

}  // namespace

std::unique_ptr<Model> make_convnext(const std::string& name, const ConvNextConfig& config,
                                     const ModelOptions& o) {
  const ImageSizes sizes = image_sizes(name, o, 224, 32);
  return std::make_unique<ConvNext>(name, config, sizes.input(), sizes.classes, o.drop_rate);
}

}  // namespace centavo
