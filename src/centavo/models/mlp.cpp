// A multi-layer perceptron over flattened images.
#include "centavo/models/zoo.h"
#include "centavo/nn/layers.h"
#include "centavo/ops/ops.h"

namespace centavo {
namespace {

class Perceptron : public Model {
 public:
  Perceptron(const std::string& name, const Shape& input, const std::vector<int64_t>& hidden,
             int64_t classes, double dropout)
      : Model(name, input, classes), dropout_{dropout} {
    int64_t width = input.elements();
    for (size_t i = 0; i <= hidden.size(); ++i) {
      int64_t next = i < hidden.size() ? hidden[i] : classes;
      layers_.emplace_back(parameters_, "layers." + std::to_string(i), width, next);
      width = next;
    }
  }

  Tensor forward(Context& ctx, const Tensor& images) const override {
    Tensor x =
        reshape(convert(images, ctx.activations()), {images.dim(0), input_shape().elements()});
    for (size_t i = 0; i < layers_.size(); ++i) {
      x = layers_[i].forward(ctx, x);
      if (i + 1 < layers_.size()) x = dropout_.forward(ctx, gelu(x));
    }
    return x;
  }

 private:
  std::vector<nn::Linear> layers_;
  nn::Dropout dropout_;
};

}  // namespace

std::unique_ptr<Model> make_mlp(const std::string& name, const ModelOptions& o) {
  const int64_t size = o.img_size.value_or(28), channels = o.in_chans.value_or(1),
                classes = o.num_classes.value_or(10);
  std::vector<int64_t> hidden = o.hidden.empty() ? std::vector<int64_t>{256, 128} : o.hidden;
  for (int64_t width : hidden) {
    if (width < 1) throw Error(name, "a hidden layer of {} units; widths must be positive", width);
  }
  if (size < 1 || channels < 1 || classes < 1)
    throw Error(name, "image size, channels and classes must be positive");
  return std::make_unique<Perceptron>(name, Shape{channels, size, size}, hidden, classes,
                                      o.drop_rate);
}

}  // namespace centavo
