// Forward passes of the layers.
#include "centavo/nn/layers.h"

#include <cmath>

#include "centavo/ops/ops.h"

namespace centavo::nn {

Linear::Linear(ParameterList& list, const std::string& layer, int64_t in, int64_t out,
               const Init& weight_init, const Init& bias_init, bool with_bias)
    : name(layer) {
  weight = list.add(name + ".weight", {out, in}, weight_init);
  if (with_bias) bias = list.add(name + ".bias", {out}, bias_init);
}

Linear::Linear(ParameterList& list, const std::string& layer, int64_t in, int64_t out,
               bool with_bias)
    : Linear(list, layer, in, out, Init::fan_in_uniform(in), Init::fan_in_uniform(in), with_bias) {}

Tensor Linear::forward(const Context& ctx, const Tensor& x) const {
  NameScope scope(name);
  return linear(x, ctx.cast(weight), bias.index < 0 ? Tensor() : ctx[bias]);
}

LayerNorm::LayerNorm(ParameterList& list, const std::string& layer, int64_t width, double epsilon)
    : name(layer), eps(epsilon) {
  weight = list.add(name + ".weight", {width}, Init::ones());
  bias = list.add(name + ".bias", {width}, Init::zeros());
}

Tensor LayerNorm::forward(const Context& ctx, const Tensor& x) const {
  NameScope scope(name);
  return layer_norm(x, ctx[weight], ctx[bias], eps);
}

Conv2d::Conv2d(ParameterList& list, const std::string& layer, int64_t in, int64_t out,
               int64_t kernel, int64_t stride, int64_t padding, int64_t groups)
    : name(layer), options(conv_options(stride, padding, groups)) {
  const double fan_out = static_cast<double>(out * kernel * kernel) / static_cast<double>(groups);
  weight = list.add(name + ".weight", {out, in / groups, kernel, kernel},
                    Init::normal(std::sqrt(2 / fan_out)));
}

Conv2d::Conv2d(ParameterList& list, const std::string& layer, int64_t in, int64_t out,
               int64_t kernel, const ConvOptions& window, const Init& weight_init,
               const Init& bias_init)
    : name(layer), options(window) {
  weight = list.add(name + ".weight", {out, in / options.groups, kernel, kernel}, weight_init);
  bias = list.add(name + ".bias", {out}, bias_init);
}

Tensor Conv2d::forward(const Context& ctx, const Tensor& x) const {
  NameScope scope(name);
  Tensor y = conv2d(x, ctx.cast(weight), options);
  return bias.index < 0 ? y : y + ctx.cast(bias);
}

BatchNorm::BatchNorm(ParameterList& list, const std::string& layer, int64_t channels,
                     double weight_init, double epsilon, double momentum_)
    : name(layer), eps(epsilon), momentum(momentum_) {
  weight = list.add(name + ".weight", {channels}, Init::constant(weight_init));
  bias = list.add(name + ".bias", {channels}, Init::zeros());
  running_mean = list.add(name + ".running_mean", {channels}, Init::zeros(), false);
  running_var = list.add(name + ".running_var", {channels}, Init::ones(), false);
}

Tensor BatchNorm::forward(Context& ctx, const Tensor& x) const {
  NameScope scope(name);
  const DType stat = statistics_dtype(x.dtype());
  Tensor old_mean = convert(ctx[running_mean], stat), old_var = convert(ctx[running_var], stat);
  if (!ctx.training()) {
    Tensor scale = convert(ctx[weight], stat) * rsqrt(old_var + eps);
    Tensor shift = convert(ctx[bias], stat) - old_mean * scale;
    return convert(convert(x, stat) * scale + shift, x.dtype());
  }
  BatchNormResult result = batch_norm(x, ctx[weight], ctx[bias], eps);
  const double count = static_cast<double>(x.shape().elements()) / static_cast<double>(x.dim(-1));
  const double unbiased = count > 1 ? count / (count - 1) : 1;
  auto towards = [&](Param buffer, const Tensor& old_value, const Tensor& batch) {
    Tensor moved = old_value * (1 - momentum) + stop_gradient(batch) * momentum;
    ctx.update(buffer, convert(moved, ctx[buffer].dtype()));
  };
  towards(running_mean, old_mean, result.mean);
  towards(running_var, old_var, result.variance * unbiased);
  return result.y;
}

Tensor Dropout::forward(Context& ctx, const Tensor& x) const {
  if (!ctx.training() || rate == 0) return x;
  return dropout(x, ctx.key(), rate, ctx.next_stream());
}

Tensor global_average_pool(const Tensor& x) {
  std::vector<int64_t> between;
  for (int d = 1; d + 1 < x.rank(); ++d) between.push_back(d);
  return convert(mean(convert(x, statistics_dtype(x.dtype())), between), x.dtype());
}

PatchEmbed::PatchEmbed(ParameterList& list, const std::string& layer, int64_t channels,
                       int64_t patch_size, int64_t width)
    : PatchEmbed(list, layer, channels, patch_size, width,
                 Init::fan_in_uniform(channels * patch_size * patch_size),
                 Init::fan_in_uniform(channels * patch_size * patch_size)) {}

PatchEmbed::PatchEmbed(ParameterList& list, const std::string& layer, int64_t channels,
                       int64_t patch_size, int64_t width, const Init& weight_init,
                       const Init& bias_init)
    : name(layer + ".proj"), patch(patch_size) {
  weight = list.add(name + ".weight", {width, channels, patch, patch}, weight_init);
  bias = list.add(name + ".bias", {width}, bias_init);
}

Tensor PatchEmbed::forward(const Context& ctx, const Tensor& images) const {
  NameScope scope(name);
  const int64_t n = images.dim(0), c = images.dim(1), rows = images.dim(2) / patch,
                cols = images.dim(3) / patch;
  Tensor x = reshape(convert(images, ctx.activations()), {n, c, rows, patch, cols, patch});
  Tensor patches = reshape(transpose(x, {0, 2, 4, 1, 3, 5}), {n, rows * cols, c * patch * patch});
  Tensor kernel = ctx.cast(weight);
  return linear(patches, reshape(kernel, {kernel.dim(0), c * patch * patch}), ctx[bias]);
}

SelfAttention::SelfAttention(ParameterList& list, int64_t width, int64_t head_count,
                             const Init& weight_init, bool is_causal)
    : heads(head_count),
      causal(is_causal),
      qkv(list, "attn.qkv", width, 3 * width, weight_init, Init::zeros()),
      proj(list, "attn.proj", width, width, weight_init, Init::zeros()) {}

Tensor SelfAttention::forward(const Context& ctx, const Tensor& x) const {
  return proj.forward(ctx, attention(qkv.forward(ctx, x), heads, causal));
}

Mlp::Mlp(ParameterList& list, const std::string& name, int64_t width, int64_t hidden,
         const Init& weight_init, const Init& bias_init)
    : fc1(list, name + ".fc1", width, hidden, weight_init, bias_init),
      fc2(list, name + ".fc2", hidden, width, weight_init, bias_init) {}

Tensor Mlp::forward(Context& ctx, const Tensor& x, const Dropout& drop) const {
  Tensor h = drop.forward(ctx, gelu(fc1.forward(ctx, x)));
  return drop.forward(ctx, fc2.forward(ctx, h));
}

Block::Block(ParameterList& list, const std::string& name, const Options& o)
    : Block(list, name, o, ParameterList::Prefix(list, name)) {}

// The prefix outlives the members' construction and ends with this constructor.
Block::Block(ParameterList& list, const std::string& name, const Options& o,
             const ParameterList::Prefix&)
    : name_(name),
      norm1_(list, "norm1", o.width, o.eps),
      attn_(list, o.width, o.heads, o.weight_init, o.causal),
      norm2_(list, "norm2", o.width, o.eps),
      mlp_(list, "mlp", o.width, o.hidden, o.weight_init),
      dropout_{o.dropout} {}

Tensor Block::forward(Context& ctx, const Tensor& x) const {
  NameScope scope(name_);
  Tensor y = x + dropout_.forward(ctx, attn_.forward(ctx, norm1_.forward(ctx, x)));
  return y + mlp_.forward(ctx, norm2_.forward(ctx, y), dropout_);
}

}  // namespace centavo::nn
