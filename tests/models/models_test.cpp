// The zoo: timm's names, counts and parameter names; initial values; forward shapes; options that
// do not fit.
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "centavo/models/model.h"
#include "centavo/ops/ops.h"
#include "centavo/optim/optimizer.h"
#include "centavo/optim/schedule.h"

namespace centavo {
namespace {

using testing::HasSubstr;

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

// Counts as timm 0.9.5 reports them.
TEST(Zoo, ParameterCountsEqualTimms) {
  const std::pair<const char*, int64_t> expected[] = {
      {"vit_tiny_patch16_224", 5'717'416},
      {"vit_small_patch16_224", 22'050'664},
      {"vit_base_patch16_224", 86'567'656},
      {"vit_large_patch16_224", 304'326'632},
      {"vit_small_patch32_224", 22'878'952},
      {"vit_base_patch32_224", 88'224'232},
      {"vit_large_patch32_224", 306'535'400},
      {"deit_tiny_patch16_224", 5'717'416},
      {"deit_tiny_distilled_patch16_224", 5'910'800},
      {"deit_small_distilled_patch16_224", 22'436'432},
      {"deit_base_distilled_patch16_224", 87'338'192},
      {"mixer_s16_224", 18'528'264},
      {"mixer_b16_224", 59'880'472},
      {"mixer_l16_224", 208'196'168},
      {"resnet18", 11'689'512},
      {"resnet34", 21'797'672},
      {"resnet50", 25'557'032},
      {"resnet101", 44'549'160},
      {"convnext_tiny", 28'589'128},
      {"convnext_small", 50'223'688},
      {"convnext_base", 88'591'464}};
  for (auto [name, count] : expected)
    EXPECT_EQ(make_model(name)->parameters().trainable_elements(), count) << name;
}

TEST(Zoo, ParameterNamesAndShapesAreTimms) {
  auto model = make_model("vit_tiny_patch16_224");
  const std::pair<const char*, Shape> expected[] = {{"cls_token", {1, 1, 192}},
                                                    {"pos_embed", {1, 197, 192}},
                                                    {"patch_embed.proj.weight", {192, 3, 16, 16}},
                                                    {"patch_embed.proj.bias", {192}},
                                                    {"blocks.0.norm1.weight", {192}},
                                                    {"blocks.0.norm1.bias", {192}},
                                                    {"blocks.0.attn.qkv.weight", {576, 192}},
                                                    {"blocks.0.attn.qkv.bias", {576}},
                                                    {"blocks.0.attn.proj.weight", {192, 192}},
                                                    {"blocks.0.attn.proj.bias", {192}},
                                                    {"blocks.0.norm2.weight", {192}},
                                                    {"blocks.0.norm2.bias", {192}},
                                                    {"blocks.0.mlp.fc1.weight", {768, 192}},
                                                    {"blocks.0.mlp.fc1.bias", {768}},
                                                    {"blocks.0.mlp.fc2.weight", {192, 768}},
                                                    {"blocks.0.mlp.fc2.bias", {192}}};
  const auto& specs = model->parameters().specs();
  ASSERT_EQ(specs.size(), 4 + 12 * 12 + 4u);
  for (size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(specs[i].name, expected[i].first);
    EXPECT_EQ(specs[i].shape, expected[i].second) << specs[i].name;
  }
  EXPECT_EQ(specs[specs.size() - 4].name, "norm.weight");
  EXPECT_EQ(specs.back().name, "head.bias");
}

TEST(Zoo, ForwardGivesLogits) {
  for (Precision precision : {Precision::kF32, Precision::kBF16Mixed, Precision::kBF16}) {
    ModelOptions o;
    o.img_size = 30, o.patch_size = 5, o.embed_dim = 48, o.num_heads = 3, o.num_classes = 7,
    o.depth = 2, o.drop_rate = 0.1;
    auto model = make_model("vit_tiny_patch16_224", o);
    std::vector<Tensor> values;
    for (const ParameterSpec& spec : model->parameters().specs())
      values.push_back(make_input({parameter_dtype(precision), spec.shape}));
    Context ctx(values, precision, true, make_input({DType::kU32, {2}}));
    Tensor logits = model->forward(ctx, make_input({DType::kF32, {4, 3, 30, 30}}));
    EXPECT_EQ(logits.shape(), (Shape{4, 7}));
    EXPECT_EQ(logits.dtype(), activation_dtype(precision));
  }
}

TEST(Zoo, NamesWhatDoesNotFit) {
  EXPECT_THAT(error_of([] { make_model("vit_tiny_patch16_242"); }),
              HasSubstr("did you mean 'vit_tiny_patch16_224'"));
  ModelOptions image;
  image.img_size = 225;
  EXPECT_THAT(error_of([&] { make_model("vit_tiny_patch16_224", image); }),
              HasSubstr("225 is no whole number of patches of 16"));
  ModelOptions heads;
  heads.num_heads = 5;
  EXPECT_THAT(error_of([&] { make_model("vit_tiny_patch16_224", heads); }), HasSubstr("5 heads"));
}

TEST(Init, IsAFunctionOfSeedAndName) {
  ParameterSpec spec{"a.weight", {64, 64}, Init::truncated_normal(0.02)};
  std::vector<float> values = initial_values(spec, 1);
  EXPECT_EQ(values, initial_values(spec, 1));
  EXPECT_NE(values, initial_values(spec, 2));
  ParameterSpec other = spec;
  other.name = "b.weight";
  EXPECT_NE(values, initial_values(other, 1));
  double squares = 0;
  for (float v : values) squares += static_cast<double>(v) * v;
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(values.size())), 0.02, 0.001);
}

double deviation(const Init& init) {
  std::vector<float> values = initial_values({"w", {200, 200}, init}, 3);
  double squares = 0;
  for (float v : values) squares += static_cast<double>(v) * v;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

TEST(Init, HasTheDeviationsOfPyTorchsAndFlaxs) {
  EXPECT_NEAR(deviation(Init::lecun_normal(100)), 0.1, 0.002);
  EXPECT_NEAR(deviation(Init::xavier_uniform(100, 300)), std::sqrt(2.0 / 400), 0.002);
  for (float v : initial_values({"w", {200, 200}, Init::lecun_normal(100)}, 3))
    ASSERT_LE(std::abs(v), 0.2 / 0.8796);
}

TEST(Optimizer, ChecksItsOptions) {
  EXPECT_THAT(error_of([] { make_optimizer("adamm", {}); }), HasSubstr("did you mean 'adam"));
  OptimizerOptions o;
  o.lr = -1;
  EXPECT_THAT(error_of([&] { make_optimizer("adam", o); }), HasSubstr("learning rate"));
  OptimizerOptions nesterov;
  nesterov.nesterov = true;
  EXPECT_THAT(error_of([&] { make_optimizer("sgd", nesterov); }), HasSubstr("--momentum"));
  EXPECT_EQ(default_options("adamw").weight_decay, 0.01);
}

TEST(Schedule, WarmUpAndCosine) {
  ScheduleOptions o{"cosine", 1.0, 0.1, 0.0, 10, 110};
  EXPECT_DOUBLE_EQ(learning_rate(o, 0), 0);
  EXPECT_DOUBLE_EQ(learning_rate(o, 5), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(o, 10), 1.0);
  EXPECT_NEAR(learning_rate(o, 60), 0.55, 1e-12);
  EXPECT_NEAR(learning_rate(o, 110), 0.1, 1e-12);
  EXPECT_NEAR(learning_rate(o, 500), 0.1, 1e-12);
}

}  // namespace
}  // namespace centavo
