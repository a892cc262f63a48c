// Layers: structs of parameter handles with a forward(). Each is made with the list that its
// parameters go into and the name under which timm keeps them. Shape letters: N batch, T tokens, D
// width, C channels.
#pragma once

#include <string>
#include <vector>

#include "centavo/nn/parameters.h"
#include "centavo/ops/conv.h"

namespace centavo::nn {

// x[..., in] -> [..., out]; weight [out, in].
struct Linear {
  Linear(ParameterList& list, const std::string& name, int64_t in, int64_t out,
         const Init& weight_init, const Init& bias_init, bool with_bias = true);
  // PyTorch's default initialisation.
  Linear(ParameterList& list, const std::string& name, int64_t in, int64_t out,
         bool with_bias = true);
  Tensor forward(const Context& ctx, const Tensor& x) const;

  std::string name;
  Param weight, bias;
};

// Over the last dimension.
struct LayerNorm {
  LayerNorm(ParameterList& list, const std::string& name, int64_t width, double eps = 1e-6);
  Tensor forward(const Context& ctx, const Tensor& x) const;

  std::string name;
  Param weight, bias;
  double eps;
};

// Channels-last convolution: x[N, H, W, I] -> [N, H', W', O]; weight [O, I / groups, K, K].
struct Conv2d {
  // Without bias, initialised as timm's ResNets are: normal, variance 2 / (O K K / groups).
  Conv2d(ParameterList& list, const std::string& name, int64_t in, int64_t out, int64_t kernel,
         int64_t stride = 1, int64_t padding = 0, int64_t groups = 1);
  // With bias[O].
  Conv2d(ParameterList& list, const std::string& name, int64_t in, int64_t out, int64_t kernel,
         const ConvOptions& options, const Init& weight_init, const Init& bias_init);
  Tensor forward(const Context& ctx, const Tensor& x) const;

  std::string name;
  Param weight, bias;
  ConvOptions options;
};

// Over all dimensions but the last. Training uses the batch's statistics and moves the running ones
// towards them by `momentum`; evaluation uses the running ones. PyTorch's semantics and defaults.
struct BatchNorm {
  BatchNorm(ParameterList& list, const std::string& name, int64_t channels, double weight_init = 1,
            double eps = 1e-5, double momentum = 0.1);
  Tensor forward(Context& ctx, const Tensor& x) const;

  std::string name;
  Param weight, bias, running_mean, running_var;
  double eps, momentum;
};

struct Dropout {
  double rate = 0;
  Tensor forward(Context& ctx, const Tensor& x) const;
};

// x[N, ..., C] -> [N, C]: the mean of everything between, in x's dtype.
Tensor global_average_pool(const Tensor& x);

// images[N, C, H, W] -> [N, (H/P) (W/P), D]: a convolution whose stride is its kernel, as a product
// of patches. Its weight is timm's, <name>.proj.weight[D, C, P, P].
struct PatchEmbed {
  // PyTorch's default initialisation.
  PatchEmbed(ParameterList& list, const std::string& name, int64_t channels, int64_t patch,
             int64_t width);
  PatchEmbed(ParameterList& list, const std::string& name, int64_t channels, int64_t patch,
             int64_t width, const Init& weight_init, const Init& bias_init);
  Tensor forward(const Context& ctx, const Tensor& images) const;

  std::string name;
  int64_t patch;
  Param weight, bias;
};

// Multi-head self-attention with packed query, key and value.
struct SelfAttention {
  SelfAttention(ParameterList& list, int64_t width, int64_t heads, const Init& weight_init,
                bool causal = false);
  Tensor forward(const Context& ctx, const Tensor& x) const;

  int64_t heads;
  bool causal;
  Linear qkv, proj;
};

// fc2(gelu(fc1(x))).
struct Mlp {
  Mlp(ParameterList& list, const std::string& name, int64_t width, int64_t hidden,
      const Init& weight_init, const Init& bias_init = Init::zeros());
  Tensor forward(Context& ctx, const Tensor& x, const Dropout& dropout) const;

  Linear fc1, fc2;
};

// A pre-norm transformer block: x + attn(norm1(x)), then x + mlp(norm2(x)).
struct Block {
  struct Options {
    int64_t width, heads, hidden;
    double eps = 1e-6, dropout = 0;
    bool causal = false;
    Init weight_init = Init::truncated_normal(0.02);
  };
  Block(ParameterList& list, const std::string& name, const Options& options);
  Tensor forward(Context& ctx, const Tensor& x) const;

 private:
  Block(ParameterList& list, const std::string& name, const Options& options,
        const ParameterList::Prefix&);

  std::string name_;
  LayerNorm norm1_;
  SelfAttention attn_;
  LayerNorm norm2_;
  Mlp mlp_;
  Dropout dropout_;
};

}  // namespace centavo::nn
