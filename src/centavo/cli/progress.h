// A progress bar for terminals; silent elsewhere.
#pragma once

#include <cstdint>
#include <string>

#include "centavo/base/timer.h"

namespace centavo::cli {

class ProgressBar {
 public:
  explicit ProgressBar(bool enabled) : enabled_(enabled) {}
  ~ProgressBar() { clear(); }
  // "Epoch 0:  52%|#####     | 50/97 [00:04 left, 9.6 it/s]", drawn ten times a second at most. The
  // rate is that since `label` was new.
  void update(const std::string& label, int64_t done, int64_t total);
  // Removes the bar, so that a line can be printed in its place.
  void clear();

 private:
  bool enabled_, shown_ = false;
  std::string label_;
  Timer since_label_, since_drawn_;
};

}  // namespace centavo::cli
