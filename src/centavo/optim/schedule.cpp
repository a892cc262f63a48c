// constant and cosine, each behind a linear warm-up.
#include "centavo/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "centavo/base/error.h"
#include "centavo/base/text.h"

namespace centavo {

std::vector<std::string> schedule_names() {
  return {"constant", "cosine"};
}

double learning_rate(const ScheduleOptions& o, int64_t step) {
  if (o.name != "constant" && o.name != "cosine") {
    throw Error("schedule", "unknown schedule '{}'{}; known: constant, cosine", o.name,
                did_you_mean(o.name, schedule_names()));
  }
  if (step < o.warmup_steps) {
    return o.warmup_lr +
           (o.lr - o.warmup_lr) * static_cast<double>(step) / static_cast<double>(o.warmup_steps);
  }
  if (o.name == "constant") return o.lr;
  double span = static_cast<double>(std::max<int64_t>(1, o.total_steps - o.warmup_steps));
  double done = std::min(1.0, static_cast<double>(step - o.warmup_steps) / span);
  return o.min_lr + (o.lr - o.min_lr) * 0.5 * (1 + std::cos(std::numbers::pi * done));
}

}  // namespace centavo
