// Small models of each architecture against PyTorch's numbers, which reference/make_reference.py
// made: names and shapes, logits, loss and gradients.
#include <cmath>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>

#include "centavo/io/json.h"
#include "centavo/models/zoo.h"
#include "centavo/train/step.h"

namespace centavo {
namespace {

constexpr int64_t kBatch = 3, kClasses = 5;

// FNV-1a of the name, then a mixing of 32 bits for each index.
class Hashed {
 public:
  explicit Hashed(const std::string& name) {
    for (char c : name) seed_ = (seed_ ^ static_cast<uint8_t>(c)) * 16777619u;
  }
  uint32_t bits(uint32_t index) const {
    uint32_t x = index * 0x9E3779B9u + seed_;
    x = (x ^ (x >> 16)) * 0x7FEB352Du;
    x = (x ^ (x >> 15)) * 0x846CA68Bu;
    return x ^ (x >> 16);
  }
  // In [-1, 1).
  double uniform(size_t index) const {
    return (bits(static_cast<uint32_t>(index)) >> 8) * 0x1p-23 - 1;
  }

 private:
  uint32_t seed_ = 2166136261u;
};

std::vector<float> uniform(const std::string& name, int64_t count, double scale, double base = 0) {
  Hashed hashed(name);
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(base + scale * hashed.uniform(i));
  return values;
}

Tensor initial(const ParameterSpec& spec) {
  const int64_t count = spec.shape.elements();
  if (spec.shape.rank() > 1) {
    const double fan_in = static_cast<double>(count / spec.shape[0]);
    return from_vector(spec.shape, uniform(spec.name, count, std::sqrt(3 / fan_in)));
  }
  const bool one = spec.name.ends_with("weight") || spec.name.ends_with("running_var");
  return from_vector(spec.shape, uniform(spec.name, count, 0.2, one ? 1 : 0));
}

ModelOptions small(int64_t image) {
  ModelOptions o;
  o.img_size = image, o.num_classes = kClasses;
  return o;
}

struct Reference {
  const char* name;  // of its file
  std::function<std::unique_ptr<Model>()> make;
};

const Reference kReferences[] = {
    {"deit_distilled",
     [] {
       return make_vit("deit", {4, 24, 2, 3, true}, small(12));
     }},
    {"mixer",
     [] {
       return make_mixer("mixer", {4, 16, 2}, small(12));
     }},
    {"convnext",
     [] {
       return make_convnext("convnext", {{1, 1, 2, 1}, {8, 12, 16, 20}}, small(48));
     }},
};

class ZooReference : public testing::TestWithParam<Reference> {};

TEST_P(ZooReference, EqualsPyTorch) {
  std::ifstream file(fmt::format("{}/{}.json", CENTAVO_REFERENCE_DIR, GetParam().name));
  ASSERT_TRUE(file) << GetParam().name;
  const io::Json expected = io::Json::parse(file);
  const std::unique_ptr<Model> model = GetParam().make();
  const Shape& sample = model->input_shape();
  std::vector<Tensor> arguments;
  std::vector<ParameterSpec> trainable;
  for (const ParameterSpec& spec : model->parameters().specs()) {
    arguments.push_back(initial(spec));
    if (spec.trainable) trainable.push_back(spec);
  }
  Tensor images = from_vector({kBatch, sample[0], sample[1], sample[2]},
                              uniform("images", kBatch * sample.elements(), 1.5));
  std::vector<int32_t> labels;
  for (int i = 0; i < kBatch; ++i) labels.push_back(i % kClasses);
  const StepOptions options{Precision::kF32};

  std::vector<float> logits = to_vector<float>(EvalStep(*model, options).logits(arguments, images));
  ASSERT_EQ(logits.size(), expected["logits"].size());
  for (size_t i = 0; i < logits.size(); ++i)
    EXPECT_NEAR(logits[i], expected["logits"][i].get<double>(), 2e-5) << "logit " << i;

  arguments.insert(arguments.end(), {images, from_vector<int32_t>({kBatch}, labels),
                                     from_vector<uint32_t>({2}, {0, 0})});
  std::vector<Tensor> results = make_gradient_function(*model, options)(arguments);
  EXPECT_NEAR(to_vector<float>(results[0])[0], expected["loss"].get<double>(), 2e-5);
  ASSERT_EQ(trainable.size(), expected["gradients"].size());
  for (size_t p = 0; p < trainable.size(); ++p) {
    const std::string& name = trainable[p].name;
    ASSERT_TRUE(expected["gradients"].contains(name)) << name;
    const io::Json& wanted = expected["gradients"][name];
    EXPECT_EQ(trainable[p].shape.dims(), wanted["shape"].get<std::vector<int64_t>>()) << name;
    const std::vector<float> gradient = to_vector<float>(results[p + 1]);
    double squares = 0, product = 0;
    Hashed probe(name + ".probe");
    for (size_t i = 0; i < gradient.size(); ++i) {
      squares += static_cast<double>(gradient[i]) * gradient[i];
      product += gradient[i] * probe.uniform(i);
    }
    const double norm = wanted["norm"].get<double>(), tolerance = 1e-4 * norm + 1e-6;
    EXPECT_NEAR(std::sqrt(squares), norm, tolerance) << name;
    EXPECT_NEAR(product, wanted["probe"].get<double>(), tolerance) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooReference, testing::ValuesIn(kReferences),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace centavo
