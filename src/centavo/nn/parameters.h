// Parameters of a model: what they are called, how they begin, and how a layer reads them while it
// is recorded. A model is a function of its parameters' values; nothing here holds values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "centavo/ir/tensor.h"

namespace centavo {

// How a parameter begins. The numbers are a function of (seed, name), whatever else the model has.
struct Init {
  enum Kind { kConstant, kNormal, kTruncatedNormal, kTruncatedNormalInSigmas, kUniform };
  Kind kind = kConstant;
  double value = 0;  // the constant; the standard deviation; the bound of [-value, value)

  static Init constant(double x) { return {kConstant, x}; }
  static Init zeros() { return {kConstant, 0}; }
  static Init ones() { return {kConstant, 1}; }
  static Init normal(double stddev) { return {kNormal, stddev}; }
  // Normal, redrawn outside [-2, 2] (absolute bounds, as PyTorch's trunc_normal_ has by default).
  static Init truncated_normal(double stddev) { return {kTruncatedNormal, stddev}; }
  // Flax's lecun_normal, as timm's lecun_normal_ has it: normal, redrawn outside two standard
  // deviations, then scaled so that what remains has a variance of 1 / fan_in.
  static Init lecun_normal(int64_t fan_in);
  static Init uniform(double bound) { return {kUniform, bound}; }
  // Glorot and Bengio (2010): uniform in sqrt(6 / (fan_in + fan_out)).
  static Init xavier_uniform(int64_t fan_in, int64_t fan_out);
  // PyTorch's default for a linear or convolution weight or bias: uniform in 1 / sqrt(fan_in).
  static Init fan_in_uniform(int64_t fan_in);
};

struct ParameterSpec {
  std::string name;  // timm's, e.g. "blocks.0.attn.qkv.weight"
  Shape shape;
  Init init;
  bool trainable = true;  // false: a buffer, such as a batch norm's running mean
};

// Handle of one parameter of a list.
struct Param {
  int index = -1;
};

// The parameters of a model in order; layers add theirs when they are made.
class ParameterList {
 public:
  // Throws Error when the name is taken. The name is joined to the current prefix with '.'.
  Param add(const std::string& name, const Shape& shape, const Init& init, bool trainable = true);
  const std::vector<ParameterSpec>& specs() const { return specs_; }
  size_t size() const { return specs_.size(); }
  const ParameterSpec& operator[](Param p) const { return specs_[static_cast<size_t>(p.index)]; }
  // Elements of the trainable parameters.
  int64_t trainable_elements() const;

  // Names added while it lives begin with `name` and a dot.
  class Prefix {
   public:
    Prefix(ParameterList& list, const std::string& name);
    ~Prefix();
    Prefix(const Prefix&) = delete;
    Prefix& operator=(const Prefix&) = delete;

   private:
    ParameterList& list_;
    size_t length_;
  };

 private:
  std::vector<ParameterSpec> specs_;
  std::string prefix_;
};

// The initial values of one parameter, in fp32.
std::vector<float> initial_values(const ParameterSpec& spec, uint64_t seed);

enum class Precision {
  kF32,        // everything in fp32
  kBF16Mixed,  // fp32 parameters, optimizer state, statistics and loss; bf16 activations and
               // products
  kBF16,       // parameters and optimizer state in bf16 too
};
// "fp32", "bf16-mixed", "bf16"; throws Error with the nearest name on anything else.
Precision precision_from_name(std::string_view name);
std::string_view name_of(Precision precision);
// dtypes of parameters (and optimizer state), and of activations.
DType parameter_dtype(Precision precision);
DType activation_dtype(Precision precision);

// What a forward pass is recorded with: the parameters' tensors, and what it leaves behind for
// buffers.
class Context {
 public:
  // `values` holds one tensor a parameter of the list, in order. `key` is u32[2] (seed and step),
  // for dropout; it may be undefined when not training.
  Context(std::vector<Tensor> values, Precision precision, bool training, Tensor key = {});

  const Tensor& operator[](Param p) const { return values_[static_cast<size_t>(p.index)]; }
  // The parameter in the activations' dtype: an operand of a product.
  Tensor cast(Param p) const;
  DType activations() const { return activation_dtype(precision_); }
  bool training() const { return training_; }
  const Tensor& key() const { return key_; }
  // A different number at each call: which dropout of the model this is.
  int64_t next_stream() { return streams_++; }
  // A buffer's value after this step.
  void update(Param buffer, Tensor value) { updates_.emplace_back(buffer, std::move(value)); }
  const std::vector<std::pair<Param, Tensor>>& updates() const { return updates_; }

 private:
  std::vector<Tensor> values_;
  Precision precision_;
  bool training_;
  Tensor key_;
  int64_t streams_ = 0;
  std::vector<std::pair<Param, Tensor>> updates_;
};

}  // namespace centavo
