// VisionTransformer as in timm: class token, learned position embedding, pre-norm blocks, LayerNorm
// eps 1e-6, exact GELU. Dosovitskiy et al., "An image is worth 16x16 words" (2021). Distilled, it
// has a second token with a head of its own: Touvron et al., "Training data-efficient image
// transformers" (2021).
#include <cmath>
#include <optional>

#include "centavo/models/zoo.h"
#include "centavo/nn/layers.h"
#include "centavo/ops/ops.h"

namespace centavo {
namespace {

class VisionTransformer : public Model {
 public:
  struct Sizes {
    int64_t image, channels, classes, patch, width, depth, heads, hidden;
    double dropout;
    bool distilled;
    int64_t tokens() const { return (image / patch) * (image / patch) + (distilled ? 2 : 1); }
  };

  VisionTransformer(const std::string& name, const Sizes& s)
      : Model(name, {s.channels, s.image, s.image}, s.classes),
        cls_token_(parameters_.add("cls_token", {1, 1, s.width}, Init::normal(1e-6))),
        pos_embed_(
            parameters_.add("pos_embed", {1, s.tokens(), s.width}, Init::truncated_normal(0.02))),
        dist_token_(s.distilled ? std::optional(parameters_.add("dist_token", {1, 1, s.width},
                                                                Init::truncated_normal(0.02)))
                                : std::nullopt),
        patch_embed_(parameters_, "patch_embed", s.channels, s.patch, s.width),
        dropout_{s.dropout},
        blocks_(make_blocks(parameters_, s)),
        norm_(parameters_, "norm", s.width),
        head_(parameters_, "head", s.width, s.classes, Init::truncated_normal(0.02),
              Init::zeros()) {
    if (s.distilled)
      head_dist_.emplace(parameters_, "head_dist", s.width, s.classes, Init::truncated_normal(0.02),
                         Init::zeros());
  }

  Tensor forward(Context& ctx, const Tensor& images) const override {
    Tensor patches = patch_embed_.forward(ctx, images);
    const int64_t n = patches.dim(0), width = patches.dim(2);
    std::vector<Tensor> tokens = {broadcast_to(ctx.cast(cls_token_), {n, 1, width})};
    if (dist_token_) tokens.push_back(broadcast_to(ctx.cast(*dist_token_), {n, 1, width}));
    tokens.push_back(patches);
    Tensor x = dropout_.forward(ctx, concatenate(tokens, 1) + ctx.cast(pos_embed_));
    for (const nn::Block& block : blocks_) x = block.forward(ctx, x);
    x = norm_.forward(ctx, x);
    auto token = [&](int64_t t) { return reshape(slice_axis(x, 1, t, t + 1), {n, width}); };
    if (!head_dist_) return head_.forward(ctx, token(0));
    // Without a teacher timm averages the two heads in training as in evaluation.
    return (head_.forward(ctx, token(0)) + head_dist_->forward(ctx, token(1))) * 0.5;
  }

 private:
  static std::vector<nn::Block> make_blocks(ParameterList& list, const Sizes& s) {
    std::vector<nn::Block> blocks;
    for (int64_t i = 0; i < s.depth; ++i) {
      nn::Block::Options options{s.width, s.heads, s.hidden};
      options.dropout = s.dropout;
      blocks.emplace_back(list, "blocks." + std::to_string(i), options);
    }
    return blocks;
  }

  Param cls_token_, pos_embed_;
  std::optional<Param> dist_token_;
  nn::PatchEmbed patch_embed_;
  nn::Dropout dropout_;
  std::vector<nn::Block> blocks_;
  nn::LayerNorm norm_;
  nn::Linear head_;
  std::optional<nn::Linear> head_dist_;
};

}  // namespace

std::unique_ptr<Model> make_vit(const std::string& name, const VitConfig& config,
                                const ModelOptions& o) {
  VisionTransformer::Sizes s;
  s.image = o.img_size.value_or(224);
  s.channels = o.in_chans.value_or(3);
  s.classes = o.num_classes.value_or(1000);
  s.patch = o.patch_size.value_or(config.patch_size);
  s.width = o.embed_dim.value_or(config.embed_dim);
  s.depth = o.depth.value_or(config.depth);
  s.heads = o.num_heads.value_or(config.num_heads);
  s.hidden =
      static_cast<int64_t>(std::lround(static_cast<double>(s.width) * o.mlp_ratio.value_or(4)));
  s.dropout = o.drop_rate;
  s.distilled = config.distilled;
  check_patches(name, s.image, s.patch);
  if (s.heads < 1 || s.width % s.heads != 0) {
    throw Error(name,
                "a width of {} does not split into {} heads; pass --embed-dim or --num-heads so "
                "that it does",
                s.width, s.heads);
  }
  if (s.depth < 1 || s.classes < 1 || s.channels < 1 || s.hidden < 1) {
    throw Error(name, "depth, classes, channels and MLP ratio must be positive");
  }
  return std::make_unique<VisionTransformer>(name, s);
}

}  // namespace centavo
