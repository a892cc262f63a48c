// A model of one's own: defined, trained and saved with the installed library.
#include <fmt/format.h>

#include <centavo/centavo.h>

using namespace centavo;

// A perceptron with a gated hidden layer.
struct Gated : Model {
  explicit Gated(int64_t inputs, int64_t width, int64_t classes)
      : Model("gated", {inputs}, classes),
        value(parameters_, "value", inputs, width),
        gate(parameters_, "gate", inputs, width),
        head(parameters_, "head", width, classes) {}

  Tensor forward(Context& ctx, const Tensor& x) const override {
    Tensor input = convert(x, ctx.activations());
    return head.forward(ctx, value.forward(ctx, input) * sigmoid(gate.forward(ctx, input)));
  }

  nn::Linear value, gate, head;
};

int main() try {
  constexpr int64_t kBatch = 64, kInputs = 8;
  Gated model(kInputs, 32, 2);
  auto optimizer = make_optimizer("adamw", default_options("adamw"));
  TrainStep step(model, *optimizer, {.precision = Precision::kF32});

  // Two classes: is the sum of the squares above its mean?
  Philox rng(1);
  double loss = 0;
  for (int i = 0; i < 400; ++i) {
    std::vector<float> x;
    std::vector<int32_t> label;
    for (int64_t n = 0; n < kBatch; ++n) {
      double squares = 0;
      for (int64_t k = 0; k < kInputs; ++k) {
        x.push_back(static_cast<float>(rng.next_normal()));
        squares += static_cast<double>(x.back()) * x.back();
      }
      label.push_back(squares > kInputs);
    }
    loss = item(step.run(from_vector({kBatch, kInputs}, x), from_vector({kBatch}, label), 3e-3));
    if (i % 100 == 0) fmt::print("step {}: loss {:.4f}\n", i, loss);
  }
  fmt::print("last loss {:.4f}\n", loss);
  save_parameters("gated.safetensors", model, step.parameters());
  return loss < 0.45 ? 0 : 1;  // chance is 0.69
} catch (const Error& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
