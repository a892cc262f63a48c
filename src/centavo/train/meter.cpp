// Statistics.
#include "centavo/train/meter.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sys/resource.h>

namespace centavo {
namespace {

// Two-sided 95 % quantile of Student's t; the expansion in 1/n of Abramowitz and Stegun 26.7.5,
// within 0.2 % from three degrees of freedom on.
double student_t95(double n) {
  if (n < 1.5) return 12.706;
  if (n < 2.5) return 4.303;
  constexpr double z = 1.959964;
  const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z, z9 = z7 * z * z;
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n) +
         (79 * z9 + 776 * z7 + 1482 * z5 - 1920 * z3 - 945 * z) / (92160 * n * n * n * n);
}

}  // namespace

Summary summarize(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  Summary s;
  s.median = n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
  s.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(n);
  if (n < 2) return s;
  double squares = 0;
  for (double v : values) squares += (v - s.mean) * (v - s.mean);
  const double degrees = static_cast<double>(n) - 1;
  s.ci95 = student_t95(degrees) * std::sqrt(squares / degrees / static_cast<double>(n));
  return s;
}

double peak_memory_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace centavo
