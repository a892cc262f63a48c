// sgd, adam and adamw.
#include "centavo/optim/optimizer.h"

#include <cmath>

#include "centavo/base/text.h"
#include "centavo/ops/update.h"

namespace centavo {
namespace {

double decay_for(const Tensor& parameter, const OptimizerOptions& o) {
  bool vector = parameter.rank() <= 1;
  return vector && o.no_decay_on_vectors ? 0 : o.weight_decay;
}

class Sgd : public Optimizer {
 public:
  explicit Sgd(const OptimizerOptions& o) : options_(o) {}
  std::string name() const override { return "sgd"; }
  std::vector<std::string> state_names() const override {
    return options_.momentum == 0 ? std::vector<std::string>{}
                                  : std::vector<std::string>{"momentum_buffer"};
  }
  std::vector<float> hyper(int64_t, double lr) const override { return {static_cast<float>(lr)}; }
  Update update(const Tensor& parameter, const Tensor& gradient, const std::vector<Tensor>& state,
                const Tensor& hyper) const override {
    SgdOptions o{options_.momentum, 0, decay_for(parameter, options_), options_.nesterov};
    SgdResult result =
        sgd_update(parameter, gradient, state.empty() ? Tensor() : state[0], hyper, o);
    return {result.parameter,
            state.empty() ? std::vector<Tensor>{} : std::vector<Tensor>{result.momentum}};
  }

 private:
  OptimizerOptions options_;
};

class Adam : public Optimizer {
 public:
  Adam(const OptimizerOptions& o, bool decoupled) : options_(o), decoupled_(decoupled) {}
  std::string name() const override { return decoupled_ ? "adamw" : "adam"; }
  std::vector<std::string> state_names() const override { return {"exp_avg", "exp_avg_sq"}; }
  std::vector<float> hyper(int64_t step, double lr) const override {
    double correction1 = 1 - std::pow(options_.beta1, static_cast<double>(step));
    double correction2 = 1 - std::pow(options_.beta2, static_cast<double>(step));
    return {static_cast<float>(lr / correction1), static_cast<float>(1 / std::sqrt(correction2)),
            static_cast<float>(lr)};
  }
  Update update(const Tensor& parameter, const Tensor& gradient, const std::vector<Tensor>& state,
                const Tensor& hyper) const override {
    AdamOptions o{options_.beta1, options_.beta2, options_.eps, decay_for(parameter, options_),
                  decoupled_};
    AdamResult result = adam_update(parameter, gradient, state[0], state[1], hyper, o);
    return {result.parameter, {result.m, result.v}};
  }

 private:
  OptimizerOptions options_;
  bool decoupled_;
};

void check(const std::string& name, const OptimizerOptions& o) {
  auto require = [&](bool ok, const char* what, double value) {
    if (!ok) throw Error(name, "{} is {}, out of range", what, value);
  };
  require(std::isfinite(o.lr) && o.lr >= 0, "learning rate", o.lr);
  require(std::isfinite(o.weight_decay) && o.weight_decay >= 0, "weight decay", o.weight_decay);
  require(o.momentum >= 0 && o.momentum < 1, "momentum", o.momentum);
  require(o.beta1 >= 0 && o.beta1 < 1, "beta1", o.beta1);
  require(o.beta2 >= 0 && o.beta2 < 1, "beta2", o.beta2);
  require(std::isfinite(o.eps) && o.eps >= 0, "eps", o.eps);
  if (o.nesterov && o.momentum == 0)
    throw Error(name, "Nesterov needs a momentum; pass --momentum 0.9");
}

}  // namespace

std::vector<std::string> optimizer_names() {
  return {"adam", "adamw", "sgd"};
}

OptimizerOptions default_options(const std::string& name) {
  OptimizerOptions o;
  if (name == "adamw") o.weight_decay = 0.01;
  return o;
}

std::unique_ptr<Optimizer> make_optimizer(const std::string& name,
                                          const OptimizerOptions& options) {
  check(name, options);
  if (name == "sgd") return std::make_unique<Sgd>(options);
  if (name == "adam") return std::make_unique<Adam>(options, false);
  if (name == "adamw") return std::make_unique<Adam>(options, true);
  throw Error("optimizer", "unknown optimizer '{}'{}; known: adam, adamw, sgd", name,
              did_you_mean(name, optimizer_names()));
}

}  // namespace centavo
