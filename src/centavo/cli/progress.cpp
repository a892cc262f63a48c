// Drawing of the bar.
#include "centavo/cli/progress.h"

#include <cstdio>
#include <fmt/format.h>

namespace centavo::cli {

void ProgressBar::update(int64_t epoch, int64_t done, int64_t total, double seconds_each) {
  if (!enabled_ || total <= 0) return;
  constexpr int64_t kWidth = 24;
  const int64_t filled = kWidth * done / total;
  const auto left = static_cast<int64_t>(static_cast<double>(total - done) * seconds_each);
  std::string bar;
  for (int64_t i = 0; i < kWidth; ++i) bar += i < filled ? "█" : " ";
  fmt::print("\rEpoch {}: {:>3}%|{}| {}/{} [{:02}:{:02} left, {:.1f} it/s]", epoch,
             100 * done / total, bar, done, total, left / 60, left % 60,
             seconds_each > 0 ? 1 / seconds_each : 0.0);
  std::fflush(stdout);
  shown_ = true;
}

void ProgressBar::clear() {
  if (!shown_) return;
  fmt::print("\r\033[K");
  std::fflush(stdout);
  shown_ = false;
}

}  // namespace centavo::cli
