// A progress bar for terminals; silent elsewhere.
#pragma once

#include <cstdint>
#include <string>

namespace centavo::cli {

class ProgressBar {
 public:
  explicit ProgressBar(bool enabled) : enabled_(enabled) {}
  ~ProgressBar() { clear(); }
  // Epoch 0: 52%|#####     | 50/97 [00:04 left, 9.6 it/s]
  void update(int64_t epoch, int64_t done, int64_t total, double seconds_each);
  // Removes the bar, so that a line can be printed in its place.
  void clear();

 private:
  bool enabled_, shown_ = false;
};

}  // namespace centavo::cli
