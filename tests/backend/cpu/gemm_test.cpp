// Matrix products against double: every level, layout, element type and odd size, on poisoned
// outputs.
#include "centavo/backend/cpu/kernels/gemm.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <vector>

#include "centavo/base/philox.h"

namespace centavo::cpu {
namespace {

std::vector<CpuLevel> levels() {
  std::vector<CpuLevel> all;
  for (int l = 0; l <= static_cast<int>(supported_cpu_level()); ++l) {
    all.push_back(static_cast<CpuLevel>(l));
  }
  return all;
}

// How the test lays a matrix out.
enum class Order { kRows, kColumns, kEveryThird };

// A random batch of matrices with NaN between and around their elements. Starts one element off any
// alignment, so that a kernel that reads too much, or from the wrong place, shows. No byte follows
// the last element.
class Matrix {
 public:
  Matrix(DType dtype, Order order, int64_t batch, int64_t rows, int64_t cols, uint64_t seed)
      : rows_(rows), cols_(cols) {
    layout.dtype = dtype;
    constexpr int64_t kGap = 3;
    if (order == Order::kRows) {
      layout.row_stride = cols + kGap, layout.col_stride = 1;
    } else if (order == Order::kColumns) {
      layout.row_stride = 1, layout.col_stride = rows + kGap;
    } else {
      layout.col_stride = 3, layout.row_stride = 3 * cols + kGap;
    }
    layout.batch_stride =
        order == Order::kColumns ? cols * layout.col_stride : rows * layout.row_stride;
    const int64_t last = rows * cols * batch == 0
                             ? 0
                             : (batch - 1) * layout.batch_stride + (rows - 1) * layout.row_stride +
                                   (cols - 1) * layout.col_stride;
    size_ = last + 2;
    bytes_.reset(new char[static_cast<size_t>(size_ * size_of(dtype))]);
    for (int64_t i = 0; i < size_; ++i) set(i, std::numeric_limits<float>::quiet_NaN());
    Philox rng(seed);
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < cols; ++j) {
          set(1 + index(b, i, j), static_cast<float>(rng.next_normal()));
        }
      }
    }
  }

  MatrixLayout layout;
  const void* data() const { return bytes_.get() + size_of(layout.dtype); }
  // Rounded to bf16 where the product does so.
  double at(int64_t b, int64_t i, int64_t j, Compute compute) const {
    const float x = get(1 + index(b, i, j));
    return compute == Compute::kBF16 ? static_cast<float>(bf16(x)) : x;
  }

 private:
  int64_t index(int64_t b, int64_t i, int64_t j) const {
    return b * layout.batch_stride + i * layout.row_stride + j * layout.col_stride;
  }
  void set(int64_t at, float x) {
    if (layout.dtype == DType::kF32) {
      std::memcpy(bytes_.get() + at * 4, &x, 4);
    } else {
      const bf16 h(x);
      std::memcpy(bytes_.get() + at * 2, &h, 2);
    }
  }
  float get(int64_t at) const {
    if (layout.dtype == DType::kF32) {
      float x;
      std::memcpy(&x, bytes_.get() + at * 4, 4);
      return x;
    }
    bf16 h;
    std::memcpy(&h, bytes_.get() + at * 2, 2);
    return h;
  }

  int64_t rows_, cols_, size_ = 0;
  std::unique_ptr<char[]> bytes_;
};

struct Case {
  int64_t m, n, k, batch = 1;
  DType a = DType::kF32, b = DType::kF32;
  Order a_order = Order::kRows, b_order = Order::kRows;
  Compute compute = Compute::kF32;
  int threads = 1;
  CpuLevel level = cpu_level();
};

GemmSpec spec_of(const Case& c, const Matrix& a, const Matrix& b) {
  return {.m = c.m,
          .n = c.n,
          .k = c.k,
          .batch = c.batch,
          .a = a.layout,
          .b = b.layout,
          .compute = c.compute,
          .threads = c.threads,
          .level = c.level};
}

std::string describe(const Case& c) {
  return fmt::format("m={} n={} k={} batch={} a={}/{} b={}/{} compute={} threads={} level={}", c.m,
                     c.n, c.k, c.batch, name_of(c.a), static_cast<int>(c.a_order), name_of(c.b),
                     static_cast<int>(c.b_order), c.compute == Compute::kF32 ? "f32" : "bf16",
                     c.threads, name_of(c.level));
}

// The distance between two bf16 numbers of this size.
double ulp_bf16(double x) {
  return std::ldexp(1.0, std::max(-133, std::ilogb(std::max(std::abs(x), 1e-37)) - 7));
}

// Checks out[batch][m][stride] against the product in double plus `before`. Sums of K terms carry
// an error of 1e-5 of the sum of their absolute values at most; bf16 results besides two units in
// the last place.
template <class T>
void expect_product(const Case& c, const Matrix& a, const Matrix& b, const std::vector<T>& out,
                    int64_t stride, const T* before) {
  int failures = 0;
  for (int64_t batch = 0; batch < c.batch && failures < 3; ++batch) {
    for (int64_t i = 0; i < c.m; ++i) {
      for (int64_t j = 0; j < stride && failures < 3; ++j) {
        const int64_t at = (batch * c.m + i) * stride + j;
        if (j >= c.n) {  // the poison between rows is still there
          failures += !std::isnan(static_cast<float>(out[at]));
          continue;
        }
        double sum = before ? static_cast<double>(static_cast<float>(before[at])) : 0;
        double size = std::abs(sum);
        for (int64_t k = 0; k < c.k; ++k) {
          const double term = a.at(batch, i, k, c.compute) * b.at(batch, k, j, c.compute);
          sum += term, size += std::abs(term);
        }
        const double bound = 1e-5 * size + (std::is_same_v<T, bf16> ? 2 * ulp_bf16(sum) : 0.0);
        const double got = static_cast<float>(out[at]);
        if (std::abs(got - sum) <= bound) continue;
        ++failures;
        ADD_FAILURE() << describe(c) << ": C[" << batch << "," << i << "," << j << "] = " << got
                      << ", expected " << sum << " +- " << bound;
      }
    }
  }
  EXPECT_EQ(failures, 0) << describe(c);
}

template <class T>
std::vector<T> poisoned(int64_t size) {
  return std::vector<T>(static_cast<size_t>(size), T(std::numeric_limits<float>::quiet_NaN()));
}

uint64_t next_seed() {
  static uint64_t seed = 0;
  return ++seed;
}

template <class T>
void check(const Case& c) {
  const Matrix a(c.a, c.a_order, c.batch, c.m, c.k, next_seed());
  const Matrix b(c.b, c.b_order, c.batch, c.k, c.n, next_seed());
  const int64_t stride = c.n + 5;
  auto out = poisoned<T>(c.batch * c.m * stride);
  gemm(spec_of(c, a, b), a.data(), b.data(),
       GemmOutput{out.data(), dtype_of<T>(), stride, c.m * stride});
  expect_product<T>(c, a, b, out, stride, nullptr);
}

TEST(Gemm, EveryLevelLayoutAndType) {
  for (CpuLevel level : levels()) {
    for (Compute compute : {Compute::kF32, Compute::kBF16}) {
      for (DType a : {DType::kF32, DType::kBF16}) {
        for (DType b : {DType::kF32, DType::kBF16}) {
          for (Order a_order : {Order::kRows, Order::kColumns, Order::kEveryThird}) {
            for (Order b_order : {Order::kRows, Order::kColumns, Order::kEveryThird}) {
              for (int64_t k : {17, 46}) {
                Case c{23, 61, k, 2, a, b, a_order, b_order, compute, 1, level};
                check<float>(c);
                check<bf16>(c);
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace centavo::cpu
