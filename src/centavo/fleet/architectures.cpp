// The table of architectures and the forward pass of each family.
#include "centavo/fleet/architectures.h"

#include <array>
#include <cmath>
#include <functional>

#include "centavo/base/error.h"
#include "centavo/base/text.h"
#include "centavo/fleet/step_builder.h"

namespace centavo::fleet {
namespace {

double product(std::initializer_list<int64_t> factors) {
  double result = 1;
  for (int64_t factor : factors) result *= static_cast<double>(factor);
  return result;
}

// Patches of an image by a strided convolution, then position embeddings added.
int64_t patch_embedding(StepBuilder& b, int64_t size, int64_t patch, int64_t width,
                        bool positions) {
  b.convolution({3, size, size, width, patch, patch, 1, true});
  const int64_t tokens = (size / patch) * (size / patch);
  if (positions) b.residual_add(product({b.batch(), tokens, width}));
  return tokens;
}

void mlp_block(StepBuilder& b, int64_t rows, int64_t width, int64_t hidden, bool dropout = false) {
  b.linear(rows, width, hidden, true, true);
  b.activation(product({rows, hidden}));
  b.linear(rows, hidden, width);
  if (dropout) b.dropout(product({rows, width}));
}

void attention_block(StepBuilder& b, int64_t tokens, int64_t width, int64_t heads,
                     bool dropout = false) {
  const int64_t rows = b.batch() * tokens;
  b.linear(rows, width, 3 * width, true, true);
  b.copy(product({rows, 3 * width}));  // heads to the front
  b.attention(heads, tokens, width / heads, dropout);
  b.copy(product({rows, width}));
  b.linear(rows, width, width);
  if (dropout) b.dropout(product({rows, width}));
}

struct VitShape {
  int64_t width, depth, heads;
};

void vit(StepBuilder& b, const VitShape& v, int64_t patch, int64_t size) {
  const int64_t tokens = patch_embedding(b, size, patch, v.width, true) + 1,
                rows = b.batch() * tokens;
  b.parameters(product({tokens + 1, v.width}));  // positions, class token
  const double stream = product({rows, v.width});
  for (int64_t i = 0; i < v.depth; ++i) {
    b.block(stream);
    b.layer_norm(stream, v.width);
    attention_block(b, tokens, v.width, v.heads);
    b.residual_add(stream);
    b.layer_norm(stream, v.width);
    mlp_block(b, rows, v.width, 4 * v.width);
    b.residual_add(stream);
  }
  b.block(stream);
  b.layer_norm(stream, v.width);
  b.linear(b.batch(), v.width, 1000);
  b.cross_entropy(b.batch(), 1000);
}

struct MixerShape {
  int64_t width, depth;
};

void mixer(StepBuilder& b, const MixerShape& v, int64_t patch, int64_t size) {
  const int64_t tokens = patch_embedding(b, size, patch, v.width, false), rows = b.batch() * tokens;
  const double stream = product({rows, v.width});
  for (int64_t i = 0; i < v.depth; ++i) {
    b.block(stream);
    b.layer_norm(stream, v.width);
    b.copy(stream);  // tokens to the back, and to the front again
    mlp_block(b, b.batch() * v.width, tokens, v.width / 2);
    b.copy(stream);
    b.residual_add(stream);
    b.layer_norm(stream, v.width);
    mlp_block(b, rows, v.width, 4 * v.width);
    b.residual_add(stream);
  }
  b.block(stream);
  b.layer_norm(stream, v.width);
  b.linear(b.batch(), v.width, 1000);
  b.cross_entropy(b.batch(), 1000);
}

// Pre-training with masked words (15 % of positions) over the tied vocabulary.
void bert(StepBuilder& b, const VitShape& v, int64_t tokens) {
  constexpr int64_t kVocabulary = 30522;
  const int64_t rows = b.batch() * tokens, masked = b.batch() * ((tokens * 15 + 99) / 100);
  const double stream = product({rows, v.width});
  b.embedding(rows, kVocabulary, v.width);
  b.parameters(product({512 + 2, v.width}));
  b.layer_norm(stream, v.width);
  for (int64_t i = 0; i < v.depth; ++i) {
    b.block(stream);
    attention_block(b, tokens, v.width, v.heads, true);
    b.residual_add(stream);
    b.layer_norm(stream, v.width);
    mlp_block(b, rows, v.width, 4 * v.width, true);
    b.residual_add(stream);
    b.layer_norm(stream, v.width);
  }
  b.block(stream);
  b.linear(masked, v.width, v.width);
  b.tied_linear(masked, v.width, kVocabulary, true);
  b.cross_entropy(masked, kVocabulary);
}

void gpt2(StepBuilder& b, const VitShape& v, int64_t tokens) {
  constexpr int64_t kVocabulary = 50257;
  const int64_t rows = b.batch() * tokens;
  const double stream = product({rows, v.width});
  b.embedding(rows, kVocabulary, v.width);
  b.parameters(product({1024, v.width}));
  for (int64_t i = 0; i < v.depth; ++i) {
    b.block(stream);
    b.layer_norm(stream, v.width);
    attention_block(b, tokens, v.width, v.heads);
    b.residual_add(stream);
    b.layer_norm(stream, v.width);
    mlp_block(b, rows, v.width, 4 * v.width);
    b.residual_add(stream);
  }
  b.block(stream);
  b.layer_norm(stream, v.width);
  b.tied_linear(rows, v.width, kVocabulary, false);
  b.cross_entropy(rows, kVocabulary);
}

enum class After { kNothing, kRelu, kSilu };

int64_t conv_norm(StepBuilder& b, const ConvShape& shape, After after) {
  const int64_t height = b.convolution(shape);
  const double elements = product({b.batch(), shape.channels_out, height, height});
  b.batch_norm(elements, shape.channels_out);
  if (after == After::kRelu) b.relu(elements);
  if (after == After::kSilu) b.activation(elements);
  return height;
}

struct ResNetShape {
  std::array<int64_t, 4> blocks;
  bool bottleneck;
};

void resnet(StepBuilder& b, const ResNetShape& v, int64_t size) {
  const int64_t expansion = v.bottleneck ? 4 : 1;
  int64_t height = conv_norm(b, {3, size, size, 64, 7, 2}, After::kRelu), channels = 64;
  b.pool(product({b.batch(), 64, height, height}),
         product({b.batch(), 64, height / 2, height / 2}));
  height /= 2;
  for (size_t stage = 0; stage < 4; ++stage) {
    const int64_t width = int64_t{64} << stage, out = expansion * width;
    for (int64_t i = 0; i < v.blocks[stage]; ++i) {
      const int64_t stride = stage > 0 && i == 0 ? 2 : 1, before = height;
      b.block(product({b.batch(), channels, height, height}));
      if (v.bottleneck) {
        conv_norm(b, {channels, before, before, width, 1}, After::kRelu);
        height = conv_norm(b, {width, before, before, width, 3, stride}, After::kRelu);
        conv_norm(b, {width, height, height, out, 1}, After::kNothing);
      } else {
        height = conv_norm(b, {channels, before, before, width, 3, stride}, After::kRelu);
        conv_norm(b, {width, height, height, out, 3}, After::kNothing);
      }
      if (stride > 1 || channels != out)
        conv_norm(b, {channels, before, before, out, 1, stride}, After::kNothing);
      channels = out;
      b.activation_add(product({b.batch(), channels, height, height}));
      b.relu(product({b.batch(), channels, height, height}));
    }
  }
  b.block(product({b.batch(), channels, height, height}));
  b.pool(product({b.batch(), channels, height, height}), product({b.batch(), channels}));
  b.linear(b.batch(), channels, 1000);
  b.cross_entropy(b.batch(), 1000);
}

struct ConvNextShape {
  std::array<int64_t, 4> widths, depths;
};

void convnext(StepBuilder& b, const ConvNextShape& v, int64_t size) {
  int64_t height = size / 4;
  b.convolution({3, size, size, v.widths[0], 4, 4, 1, true});
  b.layer_norm(product({b.batch(), height, height, v.widths[0]}), v.widths[0]);
  for (size_t stage = 0; stage < 4; ++stage) {
    const int64_t width = v.widths[stage];
    if (stage > 0) {
      const int64_t before = v.widths[stage - 1];
      b.layer_norm(product({b.batch(), height, height, before}), before);
      height = b.convolution({before, height, height, width, 2, 2, 1, true});
    }
    const int64_t rows = b.batch() * height * height;
    const double elements = product({rows, width});
    for (int64_t i = 0; i < v.depths[stage]; ++i) {
      b.block(elements);
      b.convolution({width, height, height, width, 7, 1, width, true});
      b.copy(elements);  // channels to the back
      b.layer_norm(elements, width);
      mlp_block(b, rows, width, 4 * width);
      b.parameters(static_cast<double>(width));
      b.residual_add(elements);  // layer scale
      b.copy(elements);
      b.residual_add(elements);
    }
  }
  b.block(0);
  b.layer_norm(product({b.batch(), v.widths[3]}), v.widths[3]);
  b.linear(b.batch(), v.widths[3], 1000);
  b.cross_entropy(b.batch(), 1000);
}

struct EfficientNetShape {
  double width, depth;
};

// Squeeze-and-excitation: mean over the image, two small products, a scale.
void squeeze_excite(StepBuilder& b, int64_t channels, int64_t squeezed, double elements) {
  b.pool(elements, product({b.batch(), channels}));
  b.linear(b.batch(), channels, squeezed);
  b.linear(b.batch(), squeezed, channels);
  b.activation(elements);
}

void efficientnet(StepBuilder& b, const EfficientNetShape& v, int64_t size) {
  struct Stage {
    int64_t expansion, channels, repeats, stride, kernel;
  };
  static constexpr std::array<Stage, 7> kStages = {{{1, 16, 1, 1, 3},
                                                    {6, 24, 2, 2, 3},
                                                    {6, 40, 2, 2, 5},
                                                    {6, 80, 3, 2, 3},
                                                    {6, 112, 3, 1, 5},
                                                    {6, 192, 4, 2, 5},
                                                    {6, 320, 1, 1, 3}}};
  const auto scaled = [&](int64_t channels) {
    const double wide = static_cast<double>(channels) * v.width;
    const int64_t rounded = std::max<int64_t>(8, static_cast<int64_t>(wide + 4) / 8 * 8);
    return static_cast<double>(rounded) < 0.9 * wide ? rounded + 8 : rounded;
  };
  int64_t channels = scaled(32),
          height = conv_norm(b, {3, size, size, channels, 3, 2}, After::kSilu);
  for (const Stage& stage : kStages) {
    const int64_t out = scaled(stage.channels);
    const int64_t repeats = std::llround(std::ceil(static_cast<double>(stage.repeats) * v.depth));
    for (int64_t i = 0; i < repeats; ++i) {
      const int64_t stride = i == 0 ? stage.stride : 1, middle = channels * stage.expansion;
      b.block(product({b.batch(), channels, height, height}));
      if (stage.expansion > 1) conv_norm(b, {channels, height, height, middle, 1}, After::kSilu);
      height = conv_norm(b, {middle, height, height, middle, stage.kernel, stride, middle},
                         After::kSilu);
      squeeze_excite(b, middle, std::max<int64_t>(1, channels / 4),
                     product({b.batch(), middle, height, height}));
      conv_norm(b, {middle, height, height, out, 1}, After::kNothing);
      if (stride == 1 && channels == out)
        b.activation_add(product({b.batch(), out, height, height}));
      channels = out;
    }
  }
  b.block(product({b.batch(), channels, height, height}));
  const int64_t head = scaled(1280);
  conv_norm(b, {channels, height, height, head, 1}, After::kSilu);
  b.pool(product({b.batch(), head, height, height}), product({b.batch(), head}));
  b.linear(b.batch(), head, 1000);
  b.cross_entropy(b.batch(), 1000);
}

struct Architecture {
  std::string name;
  int size;  // image size, or sequence length
  InputKind input;
  std::function<void(StepBuilder&, int64_t size)> forward;
};

std::vector<Architecture> make_architectures() {
  std::vector<Architecture> all;
  const auto image = [&](std::string name, int size, auto forward) {
    all.push_back({std::move(name), size, InputKind::kSynthetic, std::move(forward)});
  };
  const auto text = [&](std::string name, int length, auto forward) {
    all.push_back({std::move(name), length, InputKind::kTokens, std::move(forward)});
  };
  const std::pair<std::string, VitShape> kVits[] = {{"tiny", {192, 12, 3}},
                                                    {"small", {384, 12, 6}},
                                                    {"base", {768, 12, 12}},
                                                    {"large", {1024, 24, 16}},
                                                    {"huge", {1280, 32, 16}}};
  for (const auto& [name, shape] : kVits)
    for (int patch : {14, 16, 32})
      for (int size : {224, 384})
        image(fmt::format("vit_{}_patch{}_{}", name, patch, size), size,
              [shape = shape, patch](StepBuilder& b, int64_t s) { vit(b, shape, patch, s); });
  const std::pair<std::string, MixerShape> kMixers[] = {
      {"s", {512, 8}}, {"b", {768, 12}}, {"l", {1024, 24}}};
  for (const auto& [name, shape] : kMixers)
    for (int patch : {16, 32})
      image(fmt::format("mixer_{}{}_224", name, patch), 224,
            [shape = shape, patch](StepBuilder& b, int64_t s) { mixer(b, shape, patch, s); });
  const std::pair<std::string, ResNetShape> kResNets[] = {{"18", {{2, 2, 2, 2}, false}},
                                                          {"34", {{3, 4, 6, 3}, false}},
                                                          {"50", {{3, 4, 6, 3}, true}},
                                                          {"101", {{3, 4, 23, 3}, true}},
                                                          {"152", {{3, 8, 36, 3}, true}}};
  for (const auto& [name, shape] : kResNets)
    image("resnet" + name, 224,
          [shape = shape](StepBuilder& b, int64_t s) { resnet(b, shape, s); });
  const std::pair<std::string, ConvNextShape> kConvNexts[] = {
      {"tiny", {{96, 192, 384, 768}, {3, 3, 9, 3}}},
      {"small", {{96, 192, 384, 768}, {3, 3, 27, 3}}},
      {"base", {{128, 256, 512, 1024}, {3, 3, 27, 3}}},
      {"large", {{192, 384, 768, 1536}, {3, 3, 27, 3}}}};
  for (const auto& [name, shape] : kConvNexts)
    image("convnext_" + name, 224,
          [shape = shape](StepBuilder& b, int64_t s) { convnext(b, shape, s); });
  const std::pair<int, EfficientNetShape> kEfficientNets[] = {
      {224, {1.0, 1.0}}, {240, {1.0, 1.1}}, {260, {1.1, 1.2}}, {300, {1.2, 1.4}},
      {380, {1.4, 1.8}}, {456, {1.6, 2.2}}, {528, {1.8, 2.6}}, {600, {2.0, 3.1}}};
  for (int i = 0; i < 8; ++i)
    image(fmt::format("efficientnet_b{}", i), kEfficientNets[i].first,
          [shape = kEfficientNets[i].second](StepBuilder& b, int64_t s) {
            efficientnet(b, shape, s);
          });
  const std::pair<std::string, VitShape> kBerts[] = {{"base", {768, 12, 12}},
                                                     {"large", {1024, 24, 16}}};
  for (const auto& [name, shape] : kBerts)
    text("bert_" + name + "_pretrain", 128,
         [shape = shape](StepBuilder& b, int64_t s) { bert(b, shape, s); });
  const std::pair<std::string, VitShape> kGpts[] = {{"gpt2", {768, 12, 12}},
                                                    {"gpt2_medium", {1024, 24, 16}},
                                                    {"gpt2_large", {1280, 36, 20}},
                                                    {"gpt2_xl", {1600, 48, 25}}};
  for (const auto& [name, shape] : kGpts)
    text(name, 1024, [shape = shape](StepBuilder& b, int64_t s) { gpt2(b, shape, s); });
  return all;
}

const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> all = make_architectures();
  return all;
}

}  // namespace

std::vector<std::string> architecture_names() {
  std::vector<std::string> names;
  for (const Architecture& a : architectures()) names.push_back(a.name);
  return names;
}

bool has_architecture(std::string_view model) {
  for (const Architecture& a : architectures())
    if (a.name == model) return true;
  return false;
}

int own_size(std::string_view model) {
  for (const Architecture& a : architectures())
    if (a.name == model) return a.size;
  return 0;
}

Workload describe_architecture(const TrainingSetup& setup) {
  if (setup.batch < 1)
    throw Error("fleet", "the batch size must be at least 1, not {}", setup.batch);
  for (const Architecture& a : architectures()) {
    if (a.name != setup.model) continue;
    const int size = setup.image_size > 0 ? setup.image_size : a.size;
    StepBuilder builder(precision_from_name(setup.precision), setup.batch);
    a.forward(builder, size);
    Workload step = std::move(builder).finish(setup.model, setup.optimizer);
    step.input = a.input;
    step.size = size;
    step.sample_elements = a.input == InputKind::kTokens ? size : 3.0 * size * size;
    return step;
  }
  throw Error("fleet", "no description of model '{}'{}", setup.model,
              did_you_mean(setup.model, architecture_names()));
}

}  // namespace centavo::fleet
