// Names, initial values and precisions of parameters.
#include "centavo/nn/parameters.h"

#include <array>
#include <cmath>

#include "centavo/base/philox.h"
#include "centavo/base/text.h"
#include "centavo/ops/elementwise.h"

namespace centavo {
namespace {

struct PrecisionInfo {
  Precision precision;
  std::string_view name;
  DType parameters, activations;
};
constexpr std::array kPrecisions = {
    PrecisionInfo{Precision::kF32, "fp32", DType::kF32, DType::kF32},
    PrecisionInfo{Precision::kBF16Mixed, "bf16-mixed", DType::kF32, DType::kBF16},
    PrecisionInfo{Precision::kBF16, "bf16", DType::kBF16, DType::kBF16},
};

const PrecisionInfo& info_of(Precision p) {
  return kPrecisions[static_cast<size_t>(p)];
}

double truncated_normal(Philox& rng, double stddev, double bound) {
  for (;;) {
    double x = rng.next_normal() * stddev;
    if (std::abs(x) <= bound) return x;
  }
}

}  // namespace

Init Init::fan_in_uniform(int64_t fan_in) {
  return uniform(1 / std::sqrt(static_cast<double>(fan_in)));
}

Init Init::lecun_normal(int64_t fan_in) {
  // The standard deviation of a standard normal cut off at -2 and 2.
  constexpr double kCut = 0.87962566103423978;
  return {kTruncatedNormalInSigmas, 1 / std::sqrt(static_cast<double>(fan_in)) / kCut};
}

Init Init::xavier_uniform(int64_t fan_in, int64_t fan_out) {
  return uniform(std::sqrt(6 / static_cast<double>(fan_in + fan_out)));
}

Param ParameterList::add(const std::string& name, const Shape& shape, const Init& init,
                         bool trainable) {
  std::string full = prefix_ + name;
  for (const ParameterSpec& spec : specs_) {
    if (spec.name == full)
      throw Error("parameter", "'{}' is there twice; give each layer its own name", full);
  }
  specs_.push_back({full, shape, init, trainable});
  return {static_cast<int>(specs_.size()) - 1};
}

int64_t ParameterList::trainable_elements() const {
  int64_t n = 0;
  for (const ParameterSpec& spec : specs_) n += spec.trainable ? spec.shape.elements() : 0;
  return n;
}

ParameterList::Prefix::Prefix(ParameterList& list, const std::string& name)
    : list_(list), length_(list.prefix_.size()) {
  list_.prefix_ += name + ".";
}
ParameterList::Prefix::~Prefix() {
  list_.prefix_.resize(length_);
}

std::vector<float> initial_values(const ParameterSpec& spec, uint64_t seed) {
  std::vector<float> values(static_cast<size_t>(spec.shape.elements()));
  Philox rng(seed, hash_bytes(0, spec.name.data(), spec.name.size()));
  const double scale = spec.init.value;
  for (float& v : values) {
    switch (spec.init.kind) {
      case Init::kConstant:
        v = static_cast<float>(scale);
        break;
      case Init::kNormal:
        v = static_cast<float>(rng.next_normal() * scale);
        break;
      case Init::kTruncatedNormal:
        v = static_cast<float>(truncated_normal(rng, scale, 2));
        break;
      case Init::kTruncatedNormalInSigmas:
        v = static_cast<float>(truncated_normal(rng, scale, 2 * scale));
        break;
      case Init::kUniform:
        v = static_cast<float>((2 * static_cast<double>(rng.next_uniform()) - 1) * scale);
        break;
    }
  }
  return values;
}

Precision precision_from_name(std::string_view name) {
  std::vector<std::string> names;
  for (const PrecisionInfo& info : kPrecisions) {
    if (info.name == name) return info.precision;
    names.emplace_back(info.name);
  }
  throw Error("precision", "unknown precision '{}'{}; known: fp32, bf16-mixed, bf16", name,
              did_you_mean(name, names));
}

std::string_view name_of(Precision p) {
  return info_of(p).name;
}
DType parameter_dtype(Precision p) {
  return info_of(p).parameters;
}
DType activation_dtype(Precision p) {
  return info_of(p).activations;
}

Context::Context(std::vector<Tensor> values, Precision precision, bool training, Tensor key)
    : values_(std::move(values)),
      precision_(precision),
      training_(training),
      key_(std::move(key)) {}

Tensor Context::cast(Param p) const {
  return convert((*this)[p], activations());
}

}  // namespace centavo
