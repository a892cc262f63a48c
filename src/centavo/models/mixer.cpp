// MlpMixer as in timm: every block mixes tokens, then channels, by a perceptron each. Tolstikhin et
// al., "MLP-Mixer: an all-MLP architecture for vision" (2021).
#include "centavo/models/zoo.h"
#include "centavo/nn/layers.h"
#include "centavo/ops/ops.h"

namespace centavo {
namespace {

struct Sizes {
  int64_t image, channels, classes, patch, width, depth;
  double dropout;
  int64_t tokens() const { return (image / patch) * (image / patch); }
};

nn::Mlp make_perceptron(ParameterList& list, const std::string& name, int64_t width,
                        int64_t hidden) {
  return {list, name, width, hidden, Init::xavier_uniform(width, hidden), Init::normal(1e-6)};
}

// Its parameters' names are relative to the list's prefix.
class MixerBlock {
 public:
  MixerBlock(ParameterList& list, const std::string& name, const Sizes& s)
      : name_(name),
        norm1_(list, "norm1", s.width),
        mlp_tokens_(make_perceptron(list, "mlp_tokens", s.tokens(), s.width / 2)),
        norm2_(list, "norm2", s.width),
        mlp_channels_(make_perceptron(list, "mlp_channels", s.width, 4 * s.width)),
        dropout_{s.dropout} {}

  Tensor forward(Context& ctx, const Tensor& x) const {
    NameScope scope(name_);
    Tensor columns = transpose(norm1_.forward(ctx, x), {0, 2, 1});
    Tensor y = x + transpose(mlp_tokens_.forward(ctx, columns, dropout_), {0, 2, 1});
    return y + mlp_channels_.forward(ctx, norm2_.forward(ctx, y), dropout_);
  }

 private:
  std::string name_;
  nn::LayerNorm norm1_;
  nn::Mlp mlp_tokens_;
  nn::LayerNorm norm2_;
  nn::Mlp mlp_channels_;
  nn::Dropout dropout_;
};

class Mixer : public Model {
 public:
  Mixer(const std::string& name, const Sizes& s)
      : Model(name, {s.channels, s.image, s.image}, s.classes),
        stem_(parameters_, "stem", s.channels, s.patch, s.width,
              Init::lecun_normal(s.channels * s.patch * s.patch), Init::zeros()),
        blocks_(make_blocks(parameters_, s)),
        norm_(parameters_, "norm", s.width),
        head_(parameters_, "head", s.width, s.classes, Init::zeros(), Init::zeros()) {}

  Tensor forward(Context& ctx, const Tensor& images) const override {
    Tensor x = stem_.forward(ctx, images);
    for (const MixerBlock& block : blocks_) x = block.forward(ctx, x);
    x = norm_.forward(ctx, x);
    return head_.forward(ctx, nn::global_average_pool(x));
  }

 private:
  static std::vector<MixerBlock> make_blocks(ParameterList& list, const Sizes& s) {
    std::vector<MixerBlock> blocks;
    for (int64_t i = 0; i < s.depth; ++i) {
      const std::string name = fmt::format("blocks.{}", i);
      ParameterList::Prefix prefix(list, name);
      blocks.emplace_back(list, name, s);
    }
    return blocks;
  }

  nn::PatchEmbed stem_;
  std::vector<MixerBlock> blocks_;
  nn::LayerNorm norm_;
  nn::Linear head_;
};

}  // namespace

std::unique_ptr<Model> make_mixer(const std::string& name, const MixerConfig& config,
                                  const ModelOptions& o) {
  Sizes s;
  s.image = o.img_size.value_or(224);
  s.channels = o.in_chans.value_or(3);
  s.classes = o.num_classes.value_or(1000);
  s.patch = o.patch_size.value_or(config.patch_size);
  s.width = o.embed_dim.value_or(config.embed_dim);
  s.depth = o.depth.value_or(config.depth);
  s.dropout = o.drop_rate;
  check_patches(name, s.image, s.patch);
  if (s.width < 2 || s.depth < 1 || s.classes < 1 || s.channels < 1)
    throw Error(name, "depth, classes and channels must be positive, and the width 2 or more");
  return std::make_unique<Mixer>(name, s);
}

}  // namespace centavo
