// Training steps of the zoo at sizes that a test can afford.
#pragma once

#include <string>

#include "centavo/models/model.h"
#include "centavo/train/step.h"

namespace centavo::stablehlo {

// A step of two images of 32 by 32.
inline Graph step_of(const std::string& name, double drop_rate = 0,
                     Precision precision = StepOptions().precision,
                     const std::string& rule = "adamw") {
  ModelOptions options;
  options.img_size = 32;
  options.drop_rate = drop_rate;
  const auto model = make_model(name, options);
  const auto optimizer = make_optimizer(rule, default_options(rule));
  return training_graph(*model, *optimizer, {.precision = precision}, 2);
}

}  // namespace centavo::stablehlo
