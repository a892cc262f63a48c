// Drawing of the bar.
#include "centavo/cli/progress.h"

#include <cstdio>
#include <fmt/format.h>

namespace centavo::cli {

void ProgressBar::update(const std::string& label, int64_t done, int64_t total) {
  constexpr int64_t kWidth = 24;
  constexpr double kInterval = 0.1;  // seconds
  if (!enabled_ || total <= 0) return;
  if (label != label_) {
    // The first step is over when it is reported, so the rate counts from the second.
    label_ = label;
    since_label_.restart();
  }
  if (shown_ && since_drawn_.seconds() < kInterval) return;
  const double rate = done > 1 ? static_cast<double>(done - 1) / since_label_.seconds() : 0;
  const int64_t left =
      rate > 0 ? static_cast<int64_t>(static_cast<double>(total - done) / rate) : 0;
  std::string bar;
  for (int64_t i = 0; i < kWidth; ++i) bar += i < kWidth * done / total ? "█" : " ";
  fmt::print("\r{}: {:>3}%|{}| {}/{} [{:02}:{:02} left, {:.1f} it/s]\033[K", label,
             100 * done / total, bar, done, total, left / 60, left % 60, rate);
  std::fflush(stdout);
  shown_ = true;
  since_drawn_.restart();
}

void ProgressBar::clear() {
  if (!shown_) return;
  fmt::print("\r\033[K");
  std::fflush(stdout);
  shown_ = false;
}

}  // namespace centavo::cli
