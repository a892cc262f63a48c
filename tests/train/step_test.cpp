// The compiled steps: they learn, repeat to the bit, compile once, count hits as counted by hand,
// and write weights that can be read back.
#include "centavo/train/step.h"

#include <cmath>
#include <gmock/gmock.h>

#include "tests/temp_dir.h"
#include "tests/train/small.h"

#include "centavo/data/mix.h"
#include "centavo/io/safetensors.h"
#include "centavo/runtime/metrics.h"

namespace centavo {
namespace {

using testing::HasSubstr;

constexpr Precision kPrecisions[] = {Precision::kF32, Precision::kBF16Mixed, Precision::kBF16};

std::vector<std::byte> bytes_of(const Tensor& x) {
  std::vector<std::byte> bytes(static_cast<size_t>(x.type().bytes()), std::byte{0xee});
  read(x, bytes.data());
  return bytes;
}

std::vector<double> losses_of(TrainStep& step, const SmallBatch& batch, int steps, double lr) {
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i) losses.push_back(item(step.run(batch.images, batch.labels, lr)));
  return losses;
}

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(TrainStep, LearnsABatchInEveryPrecision) {
  auto model = small_vit();
  auto adam = make_optimizer("adam", {});
  SmallBatch batch = small_batch(8, 1);
  for (Precision precision : kPrecisions) {
    TrainStep step(*model, *adam, {.precision = precision});
    std::vector<double> losses = losses_of(step, batch, 60, 1e-2);
    EXPECT_NEAR(losses[0], std::log(static_cast<double>(kSmallClasses)), 0.3) << name_of(precision);
    EXPECT_LT(losses.back(), 0.3 * losses[0]) << name_of(precision);
    EXPECT_EQ(step.parameters()[0].dtype(), parameter_dtype(precision));
  }
}

TEST(TrainStep, RepeatsToTheBit) {
  auto model = small_vit(0.2);
  auto adam = make_optimizer("adamw", default_options("adamw"));
  SmallBatch batch = small_batch(5, 2);
  TrainStep first(*model, *adam, {.seed = 3}), second(*model, *adam, {.seed = 3}),
      other(*model, *adam, {.seed = 4});
  std::vector<double> losses = losses_of(first, batch, 5, 1e-3);
  EXPECT_EQ(losses, losses_of(second, batch, 5, 1e-3));
  EXPECT_NE(losses, losses_of(other, batch, 5, 1e-3));
  for (size_t i = 0; i < first.parameters().size(); ++i)
    EXPECT_TRUE(bytes_of(first.parameters()[i]) == bytes_of(second.parameters()[i])) << i;
}

TEST(TrainStep, DropoutDiffersFromStepToStep) {
  auto model = small_vit(0.5);
  auto sgd = make_optimizer("sgd", {});
  TrainStep step(*model, *sgd, {.precision = Precision::kF32});
  std::vector<double> losses = losses_of(step, small_batch(4, 3), 3, 0);
  EXPECT_NE(losses[0], losses[1]);
  EXPECT_NE(losses[1], losses[2]);
}

TEST(TrainStep, CompilesOnceWhateverChanges) {
  auto model = small_vit();
  auto adam = make_optimizer("adam", {});
  TrainStep step(*model, *adam, {});
  losses_of(step, small_batch(3, 4), 1, 1e-3);
  const int64_t compiles = counter("Compile"), hits = counter("CachedCompile");
  for (int i = 0; i < 3; ++i)
    losses_of(step, small_batch(3, 5 + static_cast<uint64_t>(i)), 1, 1e-4 * i);
  EXPECT_EQ(counter("Compile"), compiles);
  EXPECT_EQ(counter("CachedCompile"), hits);
}

TEST(TrainStep, ASgdStepIsTheGradientTimesTheRate) {
  auto model = small_vit();
  auto sgd = make_optimizer("sgd", {});
  StepOptions options{.precision = Precision::kF32};
  TrainStep step(*model, *sgd, options);
  SmallBatch batch = small_batch(6, 6);
  std::vector<Tensor> arguments = step.parameters();
  std::vector<std::vector<float>> before;
  for (const Tensor& p : arguments) before.push_back(to_vector<float>(p));
  arguments.insert(arguments.end(),
                   {batch.images, batch.labels, from_vector<uint32_t>({2}, {0, 0})});
  std::vector<Tensor> gradients = make_gradient_function(*model, options)(arguments);
  constexpr double kRate = 0.5;
  EXPECT_NEAR(item(step.run(batch.images, batch.labels, kRate)), item(gradients[0]), 1e-6);
  for (size_t i = 0; i < before.size(); ++i) {
    std::vector<float> after = to_vector<float>(step.parameters()[i]);
    std::vector<float> gradient = to_vector<float>(gradients[i + 1]);
    for (size_t k = 0; k < after.size(); ++k)
      ASSERT_NEAR(after[k], before[i][k] - kRate * gradient[k], 1e-6)
          << model->parameters().specs()[i].name << "[" << k << "]";
  }
}

// 2 FLOPs a multiply-add: every weight and token, and the two products of attention.
// lambda CE(a) + (1 - lambda) CE(b), smoothing included.
TEST(TrainStep, MixedLabelsAreWeighedLosses) {
  constexpr int64_t kBatch = 6;
  auto model = small_vit();
  auto sgd = make_optimizer("sgd", {.lr = 0.5});
  const SmallBatch batch = small_batch(kBatch, 3);
  const std::vector<int32_t> other(batch.targets.rbegin(), batch.targets.rend());
  auto loss_of = [&](const std::vector<int32_t>& labels) {
    TrainStep step(*model, *sgd, {.precision = Precision::kF32, .label_smoothing = 0.1});
    return item(step.run(batch.images, from_vector<int32_t>({kBatch}, labels), 0.5));
  };
  StepOptions options{.precision = Precision::kF32, .label_smoothing = 0.1, .mixed = true};
  const double a = loss_of(batch.targets), b = loss_of(other);
  ASSERT_NE(a, b);
  for (double share : {0.3, 1.0}) {
    TrainStep fresh(*model, *sgd, options);
    std::vector<int32_t> labels = batch.targets;
    labels.resize(data::kMixRows * kBatch);
    data::mix_targets(labels, {.share = share, .box = {}});
    const double mixed =
        item(fresh.run(batch.images, from_vector<int32_t>({data::kMixRows, kBatch}, labels), 0.5));
    EXPECT_NEAR(mixed, share * a + (1 - share) * b, 1e-6);
  }
}

TEST(TrainStep, CountsMatrixFlopsAsThreeForwardPasses) {
  auto model = make_model("vit_tiny_patch16_224");
  auto sgd = make_optimizer("sgd", {});
  TrainStep step(*model, *sgd, {});
  const double tokens = 197, width = 192;
  const double block = 2 * tokens * width * width * 12 + 4 * tokens * tokens * width;
  const double forward = 12 * block + 2 * 196 * 768 * width + 2 * width * 1000;
  EXPECT_DOUBLE_EQ(step.matrix_flops(16), 3 * 16 * forward);
}

TEST(EvalStep, CountsWhatLogitsSay) {
  auto model = small_vit();
  auto adam = make_optimizer("adam", {});
  TrainStep step(*model, *adam, {.precision = Precision::kF32});
  EvalStep eval(*model, step.options());
  constexpr int64_t kBatch = 40, kValid = 33;
  SmallBatch batch = small_batch(kBatch, 7);
  std::vector<int32_t> targets = batch.targets;
  std::fill(targets.begin() + kValid, targets.end(), -1);
  std::vector<float> logits = to_vector<float>(eval.logits(step.parameters(), batch.images));
  EvalCounts expected;
  for (int64_t i = 0; i < kValid; ++i) {
    const float* row = logits.data() + i * kSmallClasses;
    const float score = row[targets[static_cast<size_t>(i)]];
    double sum = 0;
    int64_t rank = 0;
    for (int64_t c = 0; c < kSmallClasses; ++c) {
      sum += std::exp(static_cast<double>(row[c]) - score);
      rank += row[c] > score;
    }
    expected.loss_sum += std::log(sum);
    expected.top1 += rank < 1;
    expected.top5 += rank < 5;
  }
  EvalCounts counts = eval.run(step.parameters(), batch.images, from_vector({kBatch}, targets));
  EXPECT_EQ(counts.samples, kValid);
  EXPECT_EQ(counts.top1, expected.top1);
  EXPECT_EQ(counts.top5, expected.top5);
  EXPECT_NEAR(counts.loss_sum, expected.loss_sum, 1e-4 * expected.loss_sum);
  EXPECT_LT(counts.top1, counts.top5);

  // A batch with more padding compiles nothing.
  const int64_t compiles = counter("Compile") + counter("CachedCompile");
  std::fill(targets.begin() + 1, targets.end(), -1);
  EXPECT_EQ(eval.run(step.parameters(), batch.images, from_vector({kBatch}, targets)).samples, 1);
  EXPECT_EQ(counter("Compile") + counter("CachedCompile"), compiles);
}

// Among equal scores the lower class ranks first, so that a model that says nothing is right about
// class 0 alone.
TEST(EvalStep, TiesRankByClass) {
  auto model = small_vit();
  auto sgd = make_optimizer("sgd", {});
  TrainStep step(*model, *sgd, {});
  for (size_t i = 0; i < step.parameters().size(); ++i) {
    const auto elements = static_cast<size_t>(step.parameters()[i].shape().elements());
    step.set_parameter(i, std::vector<float>(elements, 0));
  }
  EvalStep eval(*model, step.options());
  SmallBatch batch = small_batch(kSmallClasses, 8);
  Tensor labels = from_vector<int32_t>({kSmallClasses}, {0, 1, 2, 3, 4, 5, 6});
  EvalCounts counts = eval.run(step.parameters(), batch.images, labels);
  EXPECT_EQ(counts.top1, 1);
  EXPECT_EQ(counts.top5, 5);
}

TEST(Weights, ReadBackAsWritten) {
  TempDir dir;
  auto model = small_vit();
  auto adam = make_optimizer("adam", {});
  for (Precision precision : kPrecisions) {
    TrainStep step(*model, *adam, {.precision = precision, .seed = 1}),
        copy(*model, *adam, {.precision = precision, .seed = 2});
    losses_of(step, small_batch(2, 9), 2, 1e-3);
    save_parameters(dir / "w.safetensors", *model, step.parameters());
    load_parameters(dir / "w.safetensors", *model, copy);
    for (size_t i = 0; i < step.parameters().size(); ++i)
      EXPECT_TRUE(bytes_of(step.parameters()[i]) == bytes_of(copy.parameters()[i])) << i;
  }
}

TEST(Weights, OfAnotherModelAreNamed) {
  TempDir dir;
  auto adam = make_optimizer("adam", {});
  auto model = small_vit();
  TrainStep step(*model, *adam, {});
  ModelOptions wide;
  wide.hidden = {3};
  auto mlp = make_model("mlp", wide);
  TrainStep mlp_step(*mlp, *adam, {});
  save_parameters(dir / "mlp.safetensors", *mlp, mlp_step.parameters());
  EXPECT_THAT(error_of([&] { load_parameters(dir / "mlp.safetensors", *model, step); }),
              HasSubstr("cls_token"));
  wide.hidden = {4};
  auto wider = make_model("mlp", wide);
  TrainStep wider_step(*wider, *adam, {});
  EXPECT_THAT(error_of([&] { load_parameters(dir / "mlp.safetensors", *wider, wider_step); }),
              HasSubstr("'layers.0.weight' is f32[3,784], the model has [4,784]"));
}

}  // namespace
}  // namespace centavo
