// Optimizers against PyTorch's formulas, written out in double, over several steps.
#include <cmath>
#include <gtest/gtest.h>

#include "centavo/base/philox.h"
#include "centavo/optim/optimizer.h"
#include "centavo/runtime/runtime.h"

namespace centavo {
namespace {

struct Expected {
  double parameter, m = 0, v = 0;
};

// torch.optim.SGD, Adam and AdamW, one element.
void reference_step(const std::string& name, const OptimizerOptions& o, int64_t step, double lr,
                    double gradient, double decay, Expected& e) {
  if (name == "adamw") {
    e.parameter *= 1 - lr * decay;
  } else {
    gradient += decay * e.parameter;
  }
  if (name == "sgd") {
    if (o.momentum != 0) {
      e.m = o.momentum * e.m + gradient;
      gradient = o.nesterov ? gradient + o.momentum * e.m : e.m;
    }
    e.parameter -= lr * gradient;
    return;
  }
  e.m = o.beta1 * e.m + (1 - o.beta1) * gradient;
  e.v = o.beta2 * e.v + (1 - o.beta2) * gradient * gradient;
  const double t = static_cast<double>(step);
  const double m = e.m / (1 - std::pow(o.beta1, t)), v = e.v / (1 - std::pow(o.beta2, t));
  e.parameter -= lr * m / (std::sqrt(v) + o.eps);
}

void expect_agreement(const std::string& name, const OptimizerOptions& options, const Shape& shape,
                      double decay) {
  auto optimizer = make_optimizer(name, options);
  Philox rng(7, 0);
  const auto n = static_cast<size_t>(shape.elements());
  std::vector<float> start(n);
  for (float& x : start) x = static_cast<float>(rng.next_normal());
  std::vector<Expected> expected;
  for (float x : start) expected.push_back({x});
  Tensor parameter = from_vector(shape, start);
  std::vector<Tensor> state;
  for (size_t s = 0; s < optimizer->state_names().size(); ++s)
    state.push_back(from_vector(shape, std::vector<float>(n, 0)));
  for (int64_t step = 1; step <= 6; ++step) {
    const double lr = options.lr / static_cast<double>(step);
    std::vector<float> gradient(n);
    for (float& x : gradient) x = static_cast<float>(rng.next_normal());
    for (size_t i = 0; i < n; ++i)
      reference_step(name, options, step, lr, gradient[i], decay, expected[i]);
    std::vector<float> hyper = optimizer->hyper(step, lr);
    Optimizer::Update update =
        optimizer->update(parameter, from_vector(shape, gradient), state,
                          from_vector({static_cast<int64_t>(hyper.size())}, hyper));
    std::vector<Tensor> results = update.state;
    results.push_back(update.parameter);
    eval(results);
    parameter = update.parameter, state = update.state;
  }
  std::vector<float> values = to_vector<float>(parameter);
  for (size_t i = 0; i < n; ++i)
    EXPECT_NEAR(values[i], expected[i].parameter, 2e-6 * (1 + std::abs(expected[i].parameter)))
        << name << " element " << i;
  EXPECT_NE(values[0], start[0]);
}

OptimizerOptions with(double lr, double decay) {
  OptimizerOptions o;
  o.lr = lr, o.weight_decay = decay;
  return o;
}

TEST(Optimizer, SgdHasPyTorchsFormulas) {
  OptimizerOptions o = with(0.1, 0.01);
  expect_agreement("sgd", o, {3, 5}, 0.01);
  o.momentum = 0.9;
  expect_agreement("sgd", o, {3, 5}, 0.01);
  o.nesterov = true;
  expect_agreement("sgd", o, {3, 5}, 0.01);
}

TEST(Optimizer, AdamHasPyTorchsFormulas) {
  for (const char* name : {"adam", "adamw"}) {
    expect_agreement(name, with(1e-2, 0), {3, 5}, 0);
    OptimizerOptions o = with(1e-2, 0.1);
    o.beta1 = 0.8, o.beta2 = 0.95, o.eps = 1e-3;
    expect_agreement(name, o, {3, 5}, 0.1);
  }
}

TEST(Optimizer, VectorsDoNotDecayWhenAsked) {
  for (const char* name : {"sgd", "adam", "adamw"}) {
    OptimizerOptions o = with(1e-2, 0.1);
    o.no_decay_on_vectors = true;
    expect_agreement(name, o, {11}, 0);
    expect_agreement(name, o, {11, 1}, 0.1);
    o.no_decay_on_vectors = false;
    expect_agreement(name, o, {11}, 0.1);
  }
}

}  // namespace
}  // namespace centavo
