// Matrix products against double: every level, layout, element type and odd size, on poisoned
// outputs.
#include "centavo/backend/cpu/kernels/gemm.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
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

// Indices of [0, size) to check: all of a small range, the ends and a few within of a large one.
std::vector<int64_t> samples(int64_t size) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < size; i += size <= 64 || i < 8 || i >= size - 10 ? 1 : size / 32) {
    all.push_back(std::min(i, size - 1));
  }
  return all;
}

// Checks out[batch][m][stride] against the product in double plus `before`. Sums of K terms carry
// an error of 1e-5 of the sum of their absolute values at most; bf16 results besides two units in
// the last place.
template <class T>
void expect_product(const Case& c, const Matrix& a, const Matrix& b, const std::vector<T>& out,
                    int64_t stride, const std::vector<T>* before = nullptr) {
  int64_t left_out = 0, overwritten = 0, wrong = 0;
  for (int64_t row = 0; row < c.batch * c.m; ++row) {
    for (int64_t j = 0; j < stride; ++j) {
      const bool poison = std::isnan(static_cast<float>(out[row * stride + j]));
      (j < c.n ? left_out : overwritten) += (j < c.n) == poison;
    }
  }
  EXPECT_EQ(left_out, 0) << describe(c);
  EXPECT_EQ(overwritten, 0) << describe(c) << ": written between rows";
  for (int64_t batch = 0; batch < c.batch; ++batch) {
    for (int64_t i : samples(c.m)) {
      for (int64_t j : samples(c.n)) {
        const int64_t at = (batch * c.m + i) * stride + j;
        double sum = before ? static_cast<double>(static_cast<float>((*before)[at])) : 0;
        double size = std::abs(sum);
        for (int64_t k = 0; k < c.k; ++k) {
          const double term = a.at(batch, i, k, c.compute) * b.at(batch, k, j, c.compute);
          sum += term, size += std::abs(term);
        }
        const double bound = 1e-5 * size + (std::is_same_v<T, bf16> ? 2 * ulp_bf16(sum) : 0.0);
        const double got = static_cast<float>(out[at]);
        if (!(std::abs(got - sum) <= bound) && ++wrong <= 3) {
          ADD_FAILURE() << describe(c) << ": C[" << batch << "," << i << "," << j << "] = " << got
                        << ", expected " << sum << " +- " << bound;
        }
      }
    }
  }
  EXPECT_EQ(wrong, 0) << describe(c);
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
  expect_product(c, a, b, out, stride);
}

// The bytes of a product, for comparing them.
template <class... B>
std::vector<float> product(const GemmSpec& spec, const void* a, const B&... b) {
  auto out = poisoned<float>(spec.batch * spec.m * spec.n);
  gemm(spec, a, b..., GemmOutput{out.data(), DType::kF32, spec.n, spec.m * spec.n});
  return out;
}
bool same_bits(const std::vector<float>& x, const std::vector<float>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

template <class T>
const T& pick(Philox& rng, const std::vector<T>& from) {
  return from[rng.next_below(from.size())];
}

TEST(Gemm, EveryLevelLayoutAndType) {
  for (CpuLevel level : levels()) {
    for (Compute compute : {Compute::kF32, Compute::kBF16}) {
      for (DType a : {DType::kF32, DType::kBF16}) {
        for (DType b : {DType::kF32, DType::kBF16}) {
          for (Order a_order : {Order::kRows, Order::kColumns, Order::kEveryThird}) {
            for (Order b_order : {Order::kRows, Order::kColumns, Order::kEveryThird}) {
              for (int64_t k : {17, 46}) {
                const Case c{23, 61, k, 2, a, b, a_order, b_order, compute, 1, level};
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

// All triples of sizes at the highest level, a layout, type and number of threads drawn for each.
TEST(Gemm, OddSizes) {
  Philox rng(11);
  const std::vector<DType> types = {DType::kF32, DType::kBF16};
  const std::vector<Order> orders = {Order::kRows, Order::kColumns};
  for (int64_t m : {1, 3, 17, 197, 1000}) {
    for (int64_t n : {1, 3, 17, 197, 1000}) {
      for (int64_t k : {1, 3, 17, 197, 1000}) {
        for (Compute compute : {Compute::kF32, Compute::kBF16}) {
          const Case c{.m = m,
                       .n = n,
                       .k = k,
                       .a = pick(rng, types),
                       .b = pick(rng, types),
                       .a_order = pick(rng, orders),
                       .b_order = pick(rng, orders),
                       .compute = compute,
                       .threads = static_cast<int>(1 + rng.next_below(3))};
          rng.next_below(2) ? check<float>(c) : check<bf16>(c);
        }
      }
    }
  }
}

// Sizes around every boundary of blocks, chunks and registers, at every level.
TEST(Gemm, EdgesOfBlocks) {
  Philox rng(12);
  const std::vector<int64_t> sizes = {2,  5,  6,  7,  8,  9,  12, 15,  16,  31,  47,
                                      48, 49, 63, 64, 95, 96, 97, 143, 192, 193, 290};
  const std::vector<int64_t> depths = {1, 2, 3, 4, 5, 8, 31, 32, 33, 399, 400, 401, 801, 1603};
  const std::vector<DType> types = {DType::kF32, DType::kBF16};
  const std::vector<Order> orders = {Order::kRows, Order::kColumns};
  for (CpuLevel level : levels()) {
    for (int i = 0; i < 60; ++i) {
      const Case c{.m = pick(rng, sizes),
                   .n = pick(rng, sizes),
                   .k = pick(rng, depths),
                   .batch = static_cast<int64_t>(1 + rng.next_below(3)),
                   .a = pick(rng, types),
                   .b = pick(rng, types),
                   .a_order = pick(rng, orders),
                   .b_order = pick(rng, orders),
                   .compute = i % 2 ? Compute::kF32 : Compute::kBF16,
                   .threads = static_cast<int>(1 + rng.next_below(4)),
                   .level = level};
      check<float>(c);
    }
  }
}

TEST(Gemm, SameBitsForEveryNumberOfThreads) {
  for (Compute compute : {Compute::kF32, Compute::kBF16}) {
    for (int64_t batch : {1, 3, 5}) {
      for (Order a_order : {Order::kRows, Order::kColumns}) {
        Case c{.m = 211,
               .n = 389,
               .k = 1702,
               .batch = batch,
               .a = DType::kBF16,
               .b = DType::kBF16,
               .a_order = a_order,
               .compute = compute};
        const Matrix a(c.a, c.a_order, c.batch, c.m, c.k, next_seed());
        const Matrix b(c.b, c.b_order, c.batch, c.k, c.n, next_seed());
        const auto one = product(spec_of(c, a, b), a.data(), b.data());
        for (int threads : {2, 3, 4, 6, 7}) {
          c.threads = threads;
          EXPECT_TRUE(same_bits(one, product(spec_of(c, a, b), a.data(), b.data()))) << describe(c);
        }
      }
    }
  }
}

TEST(Gemm, OneOperandForTheWholeBatch) {
  for (int threads : {1, 2}) {
    for (bool share_a : {false, true}) {
      const Case c{.m = 53, .n = 120, .k = 70, .batch = 5, .threads = threads};
      const Case one{.m = 53, .n = 120, .k = 70};
      const Matrix a(c.a, c.a_order, share_a ? 1 : 5, c.m, c.k, next_seed());
      const Matrix b(c.b, c.b_order, share_a ? 5 : 1, c.k, c.n, next_seed());
      GemmSpec spec = spec_of(c, a, b);
      (share_a ? spec.a : spec.b).batch_stride = 0;
      const auto all = product(spec, a.data(), b.data());
      for (int64_t i = 0; i < c.batch; ++i) {
        const auto* a_data = static_cast<const float*>(a.data()) + i * spec.a.batch_stride;
        const auto* b_data = static_cast<const float*>(b.data()) + i * spec.b.batch_stride;
        const auto alone = product(spec_of(one, a, b), a_data, b_data);
        EXPECT_EQ(
            std::memcmp(alone.data(), all.data() + i * c.m * c.n, alone.size() * sizeof(float)), 0)
            << "batch " << i << ", " << describe(c);
      }
    }
  }
}

template <class T>
void check_accumulate(const Case& c) {
  const Matrix a(c.a, c.a_order, c.batch, c.m, c.k, next_seed());
  const Matrix b(c.b, c.b_order, c.batch, c.k, c.n, next_seed());
  const int64_t stride = c.n + 5;
  auto before = poisoned<T>(c.batch * c.m * stride);
  Philox rng(next_seed());
  for (int64_t i = 0; i < c.batch * c.m; ++i) {
    for (int64_t j = 0; j < c.n; ++j) {
      before[i * stride + j] = T(static_cast<float>(rng.next_normal()));
    }
  }
  auto out = before;
  gemm(spec_of(c, a, b), a.data(), b.data(),
       GemmOutput{out.data(), dtype_of<T>(), stride, c.m * stride, true});
  expect_product(c, a, b, out, stride, &before);
}

TEST(Gemm, AddsToTheOutput) {
  for (CpuLevel level : levels()) {
    for (int64_t k : {30, 900}) {
      const Case c{.m = 101, .n = 45, .k = k, .batch = 2, .threads = 2, .level = level};
      check_accumulate<float>(c);
      check_accumulate<bf16>(c);
    }
  }
}

TEST(Gemm, PackedOnceIsTheSame) {
  for (CpuLevel level : levels()) {
    for (Compute compute : {Compute::kF32, Compute::kBF16}) {
      for (Order order : {Order::kRows, Order::kColumns}) {
        const Case c{.m = 130,
                     .n = 211,
                     .k = 905,
                     .batch = 3,
                     .b_order = order,
                     .compute = compute,
                     .threads = 2,
                     .level = level};
        const Matrix a(c.a, c.a_order, c.batch, c.m, c.k, next_seed());
        const Matrix b(c.b, c.b_order, 1, c.k, c.n, next_seed());
        GemmSpec spec = spec_of(c, a, b);
        spec.b.batch_stride = 0;
        std::vector<float> memory(packed_bytes(c.k, c.n, compute, level) / sizeof(float),
                                  std::numeric_limits<float>::quiet_NaN());
        const PackedMatrix packed =
            pack_matrix(b.layout, c.k, c.n, b.data(), compute, memory.data(), 2, level);
        EXPECT_TRUE(same_bits(product(spec, a.data(), b.data()), product(spec, a.data(), packed)))
            << describe(c);
      }
    }
  }
}

// Where the header says that element (k, n) goes.
TEST(Gemm, PackedLayout) {
  const Micro& table = micro(Compute::kBF16);
  const int64_t k = 37, n = 2 * table.width() + 5;
  const Matrix b(DType::kF32, Order::kRows, 1, k, n, next_seed());
  std::vector<float> words(packed_bytes(k, n, Compute::kBF16) / sizeof(float));
  pack_matrix(b.layout, k, n, b.data(), Compute::kBF16, words.data());
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const float* word = words.data() + j / table.width() * table.steps(k) * table.width() +
                          i / table.depth * table.width() + j % table.width();
      const auto* halves = reinterpret_cast<const bf16*>(word);
      const float got = table.word == DType::kF32 ? *word : float(halves[i % table.depth]);
      ASSERT_EQ(got, b.at(0, i, j, Compute::kBF16)) << i << ", " << j;
    }
  }
}

TEST(Gemm, SinkGetsEveryElementOnce) {
  for (int threads : {1, 2, 3}) {
    const Case c{.m = 205, .n = 333, .k = 500, .batch = 4, .threads = threads};
    const Matrix a(c.a, c.a_order, c.batch, c.m, c.k, next_seed());
    const Matrix b(c.b, c.b_order, c.batch, c.k, c.n, next_seed());
    const auto expected = product(spec_of(c, a, b), a.data(), b.data());
    struct Context {
      const Case& c;
      const std::vector<float>& expected;
      std::vector<int> visits;
      std::atomic<int64_t> wrong{0};
    } context{c, expected, std::vector<int>(expected.size()), {}};
    gemm(
        spec_of(c, a, b), a.data(), b.data(),
        [](void* p, const GemmTile& tile) {
          auto& [spec, want, visits, wrong] = *static_cast<Context*>(p);
          wrong += reinterpret_cast<uintptr_t>(tile.data) % 64 != 0 || tile.ld % 16 != 0;
          for (int64_t i = 0; i < tile.rows; ++i) {
            for (int64_t j = 0; j < tile.cols; ++j) {
              const int64_t at = (tile.batch * spec.m + tile.row + i) * spec.n + tile.col + j;
              ++visits[at];
              wrong += tile.data[i * tile.ld + j] != want[at];
            }
          }
        },
        &context);
    EXPECT_EQ(context.wrong, 0);
    EXPECT_EQ(std::count(context.visits.begin(), context.visits.end(), 1),
              static_cast<int64_t>(context.visits.size()));
  }
}

TEST(Gemm, EmptyDimensions) {
  const Matrix a(DType::kF32, Order::kRows, 1, 20, 20, 1),
      b(DType::kF32, Order::kRows, 1, 20, 20, 2);
  for (int threads : {1, 2}) {
    GemmSpec spec = spec_of({.m = 20, .n = 20, .k = 0, .threads = threads}, a, b);
    EXPECT_EQ(product(spec, a.data(), b.data()), std::vector<float>(400, 0.0f));
    auto untouched = [](void*, const GemmTile&) { ADD_FAILURE() << "a tile of nothing"; };
    spec.k = 20, spec.m = 0;
    gemm(spec, a.data(), b.data(), untouched, nullptr);
    spec.m = 20, spec.n = 0;
    gemm(spec, a.data(), b.data(), untouched, nullptr);
    spec.n = 20, spec.batch = 0;
    gemm(spec, a.data(), b.data(), untouched, nullptr);
  }
}

// An infinity or NaN reaches its row and column only; nothing multiplies padding by it.
TEST(Gemm, NotFiniteStaysInItsRow) {
  for (CpuLevel level : levels()) {
    for (Compute compute : {Compute::kF32, Compute::kBF16}) {
      constexpr int64_t kM = 19, kN = 37, kK = 33;
      std::vector<float> a(kM * kK, 1.0f), b(kK * kN, 0.5f);
      a[4 * kK + 32] = std::numeric_limits<float>::infinity();
      b[7 * kN + 36] = std::numeric_limits<float>::quiet_NaN();
      const GemmSpec spec{.m = kM,
                          .n = kN,
                          .k = kK,
                          .a = {DType::kF32, kK, 1},
                          .b = {DType::kF32, kN, 1},
                          .compute = compute,
                          .level = level};
      const auto c = product(spec, a.data(), b.data());
      for (int64_t i = 0; i < kM; ++i) {
        for (int64_t j = 0; j < kN; ++j) {
          const float x = c[i * kN + j];
          if (j == 36) {
            EXPECT_TRUE(std::isnan(x));
          } else if (i == 4) {
            EXPECT_TRUE(std::isinf(x));
          } else {
            EXPECT_EQ(x, 16.5f);
          }
        }
      }
    }
  }
}

TEST(Gemm, SaysWhichTypesItTakes) {
  const Matrix a(DType::kF32, Order::kRows, 1, 4, 4, 1), b(DType::kF32, Order::kRows, 1, 4, 4, 2);
  GemmSpec spec = spec_of({.m = 4, .n = 4, .k = 4}, a, b);
  spec.b.dtype = DType::kF64;
  EXPECT_THROW(product(spec, a.data(), b.data()), Error);
}

TEST(CpuLevel, NamesAndErrors) {
  EXPECT_EQ(parse_cpu_level(name_of(supported_cpu_level())), supported_cpu_level());
  EXPECT_EQ(parse_cpu_level("baseline"), CpuLevel::kBaseline);
  EXPECT_LE(cpu_level(), supported_cpu_level());
  try {
    parse_cpu_level("avx51");
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("did you mean 'avx512'?"));
  }
  if (supported_cpu_level() < CpuLevel::kAvx512Bf16) {
    EXPECT_THROW(parse_cpu_level("avx512_bf16"), Error);
  }
}

}  // namespace
}  // namespace centavo::cpu
