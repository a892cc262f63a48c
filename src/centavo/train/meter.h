// Small statistics of a run: running averages, and the summary of a list of times.
#pragma once

#include <cstdint>
#include <vector>

namespace centavo {

// Latest value and mean since the last reset.
class AverageMeter {
 public:
  void add(double value, int64_t weight = 1) {
    last_ = value;
    total_ += value * static_cast<double>(weight);
    count_ += weight;
  }
  double last() const { return last_; }
  double mean() const { return count_ > 0 ? total_ / static_cast<double>(count_) : 0; }
  double total() const { return total_; }
  int64_t count() const { return count_; }
  void reset() { *this = {}; }
  // Continues from sums that were saved.
  void resume(double total, int64_t count) { *this = {}, total_ = total, count_ = count; }

 private:
  double last_ = 0, total_ = 0;
  int64_t count_ = 0;
};

struct Summary {
  double median = 0, mean = 0;
  double ci95 = 0;  // half width of the mean's 95 % confidence interval, by Student's t
};
// Zeros for an empty list.
Summary summarize(std::vector<double> values);

// Most memory that this process has held, in MiB.
double peak_memory_mib();

}  // namespace centavo
