// The attention kernels against the definition in double: odd sizes, strided views, both
// precisions.
#include "centavo/backend/cpu/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "centavo/base/philox.h"

namespace centavo::cpu {
namespace {

// How the operands lie in memory.
enum class Views {
  kPacked,  // q, k, v slices of one [B,T,3,H,D]; out [B,T,H*D]
  kLoose,   // [B,H,T,D] with gaps between rows, one element off any alignment
};

// One array in memory with a view of [batch, tokens, heads, dim] into it.
template <class T>
struct Array {
  std::vector<T> memory;
  int64_t offset = 0;
  int64_t batch, tokens, heads, dim;
  AttentionStrides strides;

  T* data() { return memory.data() + offset; }
  int64_t at(int64_t b, int64_t t, int64_t h, int64_t d) const {
    return offset + b * strides.batch + t * strides.token + h * strides.head + d;
  }
  double operator()(int64_t b, int64_t t, int64_t h, int64_t d) const {
    return static_cast<float>(memory[at(b, t, h, d)]);
  }
};

constexpr std::byte kPoison{0xff};  // every byte: a NaN in both types

template <class T>
Array<T> make_array(int64_t batch, int64_t tokens, int64_t heads, int64_t dim, Views views,
                    int64_t slices) {
  Array<T> a{{}, 0, batch, tokens, heads, dim, {}};
  if (views == Views::kPacked) {
    a.strides = {tokens * slices * heads * dim, slices * heads * dim, dim};
    a.offset = (slices - 1) * heads * dim;
    a.memory.resize(batch * a.strides.batch);
  } else {
    a.strides = {heads * tokens * (dim + 3) + 5, dim + 3, tokens * (dim + 3)};
    a.offset = 1;
    a.memory.resize(batch * a.strides.batch + 1);
  }
  std::ranges::fill(std::as_writable_bytes(std::span(a.memory)), kPoison);
  return a;
}

template <class T, class F>
void for_each(Array<T>& a, F&& f) {
  for (int64_t b = 0; b < a.batch; ++b)
    for (int64_t t = 0; t < a.tokens; ++t)
      for (int64_t h = 0; h < a.heads; ++h)
        for (int64_t d = 0; d < a.dim; ++d) f(a.memory[a.at(b, t, h, d)], b, t, h, d);
}

struct Sizes {
  int64_t batch, heads, q_tokens, kv_tokens, head_dim;
  bool causal = false;
  Views views = Views::kPacked;
  double magnitude = 1;  // of q; the logits grow with it
};

template <class T>
struct Problem {
  AttentionSpec spec;
  Array<T> q, k, v, out, d_out, dq, dk, dv;
  std::vector<float> lse;

  Problem(const Sizes& s, uint64_t seed, CpuLevel level = cpu_level()) {
    auto make = [&](int64_t tokens, int64_t slices) {
      return make_array<T>(s.batch, tokens, s.heads, s.head_dim, s.views, slices);
    };
    q = make(s.q_tokens, 3), k = make(s.kv_tokens, 3), v = make(s.kv_tokens, 3);
    out = make(s.q_tokens, 1), d_out = make(s.q_tokens, 1);
    dq = q, dk = k, dv = v;
    lse.assign(s.batch * s.heads * s.q_tokens, std::numeric_limits<float>::quiet_NaN());
    spec = {.batch = s.batch,
            .heads = s.heads,
            .q_tokens = s.q_tokens,
            .kv_tokens = s.kv_tokens,
            .head_dim = s.head_dim,
            .scale = 1 / std::sqrt(static_cast<float>(s.head_dim)),
            .causal = s.causal,
            .dtype = dtype_of<T>(),
            .q = q.strides,
            .k = k.strides,
            .v = v.strides,
            .out = out.strides,
            .level = level};
    Philox rng(seed);
    auto fill = [&](Array<T>& a, double by) {
      for_each(a, [&](T& x, auto...) { x = static_cast<T>(by * rng.next_normal()); });
    };
    fill(q, s.magnitude), fill(k, 1), fill(v, 1), fill(d_out, 1);
  }

  void forward() { attention_forward(spec, q.data(), k.data(), v.data(), out.data(), lse.data()); }
  void backward() {
    attention_backward(spec, q.data(), k.data(), v.data(), out.data(), d_out.data(), lse.data(),
                       dq.data(), dk.data(), dv.data());
  }
};

// A value by the definition, and the first-order bound of what bf16 roundings may do to it.
struct Expected {
  std::vector<double> value, bound;
  explicit Expected(int64_t n) : value(n), bound(n) {}
  void add(int64_t i, double x, double b) { value[i] += x, bound[i] += b; }
};

struct Reference {
  Expected out, lse, dq, dk, dv;  // [B,T,H,D] dense, lse [B,H,T]
};

constexpr double kUnit = 0x1p-8;  // bf16's unit roundoff

// Roundings of the bf16 path: P and dS relative kUnit each before their products; O (and so delta,
// the row sum of dO * O) carries P's rounding and its own; every result is rounded when stored.
template <class T>
Reference reference(const Problem<T>& p) {
  const AttentionSpec& s = p.spec;
  const int64_t nq = s.batch * s.q_tokens * s.heads * s.head_dim;
  const int64_t nk = s.batch * s.kv_tokens * s.heads * s.head_dim;
  Reference r{Expected(nq), Expected(s.batch * s.heads * s.q_tokens), Expected(nq), Expected(nk),
              Expected(nk)};
  std::vector<double> prob(s.kv_tokens);
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t h = 0; h < s.heads; ++h)
      for (int64_t i = 0; i < s.q_tokens; ++i) {
        auto dense = [&](int64_t tokens, int64_t t) {
          return ((b * tokens + t) * s.heads + h) * s.head_dim;
        };
        const int64_t n = s.causal ? std::min(i + 1, s.kv_tokens) : s.kv_tokens;
        double max = -std::numeric_limits<double>::infinity(), sum = 0;
        for (int64_t j = 0; j < n; ++j) {
          prob[j] = 0;
          for (int64_t d = 0; d < s.head_dim; ++d) prob[j] += p.q(b, i, h, d) * p.k(b, j, h, d);
          prob[j] *= s.scale;
          max = std::max(max, prob[j]);
        }
        for (int64_t j = 0; j < n; ++j) sum += prob[j] = std::exp(prob[j] - max);
        r.lse.value[(b * s.heads + h) * s.q_tokens + i] = max + std::log(sum);
        double delta = 0, delta_bound = 0;
        const int64_t row = dense(s.q_tokens, i);
        for (int64_t j = 0; j < n; ++j) {
          prob[j] /= sum;
          for (int64_t d = 0; d < s.head_dim; ++d) {
            const double x = prob[j] * p.v(b, j, h, d);
            r.out.add(row + d, x, kUnit * std::abs(x));
          }
        }
        for (int64_t d = 0; d < s.head_dim; ++d) {
          const double g = p.d_out(b, i, h, d);
          r.out.bound[row + d] += kUnit * std::abs(r.out.value[row + d]);
          delta += g * r.out.value[row + d];
          delta_bound += std::abs(g) * r.out.bound[row + d];
        }
        for (int64_t j = 0; j < n; ++j) {
          double dp = 0;
          for (int64_t d = 0; d < s.head_dim; ++d) dp += p.d_out(b, i, h, d) * p.v(b, j, h, d);
          const double ds = s.scale * prob[j] * (dp - delta);
          const double ds_bound = kUnit * std::abs(ds) + s.scale * prob[j] * delta_bound;
          const int64_t col = dense(s.kv_tokens, j);
          for (int64_t d = 0; d < s.head_dim; ++d) {
            const double qd = p.q(b, i, h, d), kd = p.k(b, j, h, d), g = p.d_out(b, i, h, d);
            r.dq.add(row + d, ds * kd, ds_bound * std::abs(kd));
            r.dk.add(col + d, ds * qd, ds_bound * std::abs(qd));
            r.dv.add(col + d, prob[j] * g, kUnit * std::abs(prob[j] * g));
          }
        }
      }
  for (Expected* e : {&r.dq, &r.dk, &r.dv}) {
    for (size_t i = 0; i < e->value.size(); ++i) e->bound[i] += kUnit * std::abs(e->value[i]);
  }
  return r;
}

double max_abs(const std::vector<double>& x) {
  double m = 0;
  for (double v : x) m = std::max(m, std::abs(v));
  return m;
}

// f32: errors within `tolerance` of the array's largest magnitude (of at least `floor`, for
// gradients that cancel to nothing). bf16: besides that, each element within its own bound.
template <class T>
void expect_close(Array<T>& got, const Expected& want, const char* name, double tolerance,
                  double floor = 0) {
  const double slack = tolerance * std::max(max_abs(want.value), floor);
  int64_t bad = 0, written = 0, index = 0;
  double worst = 0;
  for_each(got, [&](T& x, auto...) {
    const double bound = slack + (std::is_same_v<T, bf16> ? 1.02 * want.bound[index] : 0);
    const double error = std::abs(static_cast<float>(x) - want.value[index]);
    if (!(error <= bound)) ++bad;
    worst = std::max(worst, error / bound);
    ++index;
    std::ranges::fill(std::as_writable_bytes(std::span(&x, 1)), kPoison);
  });
  EXPECT_EQ(bad, 0) << name << ": of " << index << " elements; worst error / bound " << worst;
  for (std::byte b : std::as_bytes(std::span(got.memory))) written += b != kPoison;
  EXPECT_EQ(written, 0) << name << ": bytes outside the view were written";
}

// `tolerance`: of f32 arithmetic, relative to the largest value.
template <class T>
void check(const Sizes& s, uint64_t seed, double tolerance = 1e-5, CpuLevel level = cpu_level()) {
  SCOPED_TRACE(fmt::format("{} {} B={} H={} Tq={} Tkv={} D={} causal={} views={} magnitude={}",
                           name_of(level), name_of(dtype_of<T>()), s.batch, s.heads, s.q_tokens,
                           s.kv_tokens, s.head_dim, s.causal, static_cast<int>(s.views),
                           s.magnitude));
  Problem<T> p(s, seed, level);
  p.forward();
  p.backward();
  const Reference r = reference(p);
  for (size_t i = 0; i < p.lse.size(); ++i) {
    ASSERT_NEAR(p.lse[i], r.lse.value[i], 1e-5 * std::max(1.0, std::abs(r.lse.value[i])));
  }
  // With one kv token the softmax is constant and dq, dk are what rounding leaves of |dO||V||K|.
  const double floor = 0.1 * s.head_dim * s.magnitude;
  expect_close(p.out, r.out, "out", tolerance);
  expect_close(p.dq, r.dq, "dq", tolerance, floor);
  expect_close(p.dk, r.dk, "dk", tolerance, floor);
  expect_close(p.dv, r.dv, "dv", tolerance);
}

template <class T>
class Attention : public testing::Test {};
using Types = testing::Types<float, bf16>;
TYPED_TEST_SUITE(Attention, Types);

TYPED_TEST(Attention, MatchesDoubleOverOddSizes) {
  uint64_t seed = 1;
  for (int64_t tokens : {1, 3, 17, 65, 197}) {
    for (int64_t dim : {1, 3, 16, 48, 64, 80}) {
      for (Views views : {Views::kPacked, Views::kLoose}) {
        check<TypeParam>({1, 2, tokens, tokens, dim, seed % 3 == 0, views}, seed);
        ++seed;
      }
    }
  }
}

TYPED_TEST(Attention, MatchesDoubleOverLongSequences) {
  check<TypeParam>({1, 1, 1000, 1000, 64}, 1);
  check<TypeParam>({1, 1, 1000, 1000, 16, true, Views::kLoose}, 2);
  check<TypeParam>({1, 1, 7, 1531, 80}, 3);
  check<TypeParam>({1, 1, 601, 5, 256, false, Views::kLoose}, 4);
}

// Queries and keys of different numbers; with `causal`, keys that no query sees.
TYPED_TEST(Attention, MatchesDoubleAcrossSequences) {
  for (bool causal : {false, true}) {
    check<TypeParam>({2, 3, 33, 70, 24, causal}, 1);
    check<TypeParam>({2, 3, 70, 33, 24, causal}, 2);
    check<TypeParam>({1, 2, 9, 530, 8, causal}, 3);
    check<TypeParam>({1, 2, 270, 131, 8, causal}, 4);
  }
}

TYPED_TEST(Attention, MatchesDoubleAtEveryLevel) {
  for (int level = 0; level <= static_cast<int>(supported_cpu_level()); ++level) {
    for (bool causal : {false, true}) {
      check<TypeParam>({2, 2, 197, 197, 64, causal}, 1, 1e-5, CpuLevel(level));
      check<TypeParam>({1, 2, 13, 301, 37, causal, Views::kLoose}, 2, 1e-5, CpuLevel(level));
    }
  }
}

// Logits of thousands, whose exponentials overflow any type. Their fp32 rounding, about 1e-7 of
// them, is what the probabilities are wrong by.
TYPED_TEST(Attention, SurvivesLargeLogits) {
  for (int level = 0; level <= static_cast<int>(supported_cpu_level()); ++level) {
    check<TypeParam>({1, 2, 65, 65, 64, false, Views::kPacked, 1000}, 1, 5e-3, CpuLevel(level));
    check<TypeParam>({1, 1, 40, 700, 64, true, Views::kPacked, 1000}, 2, 5e-3, CpuLevel(level));
  }
}

TYPED_TEST(Attention, SameBitsForAnyNumberOfThreads) {
  const auto results = [](const Sizes& sizes, int threads) {
    Problem<TypeParam> p(sizes, 1);
    p.spec.threads = threads;
    p.forward();
    p.backward();
    std::vector<std::byte> bytes;
    const auto append = [&](const auto& values) {
      const auto view = std::as_bytes(std::span(values));
      bytes.insert(bytes.end(), view.begin(), view.end());
    };
    append(p.lse);
    for (auto* a : {&p.out, &p.dq, &p.dk, &p.dv}) append(a->memory);
    return bytes;
  };
  for (const Sizes& sizes : {Sizes{2, 3, 197, 197, 64}, Sizes{1, 1, 601, 601, 16, true}}) {
    const auto one = results(sizes, 1);
    for (int threads : {1, 2, 3, 7}) EXPECT_EQ(results(sizes, threads), one) << threads;
  }
}

// A NaN shows in its own row's output, and nowhere once its data are gone.
TYPED_TEST(Attention, PassesNanOn) {
  for (int level = 0; level <= static_cast<int>(supported_cpu_level()); ++level) {
    Problem<TypeParam> p({1, 1, 50, 50, 20}, 1, CpuLevel(level));
    p.q.memory[p.q.at(0, 7, 0, 3)] = TypeParam(std::numeric_limits<float>::quiet_NaN());
    p.forward();
    for_each(p.out, [](TypeParam& x, int64_t, int64_t t, auto...) {
      EXPECT_EQ(std::isnan(static_cast<float>(x)), t == 7) << t;
    });
    EXPECT_TRUE(std::isnan(p.lse[7]));
    p.backward();
    for_each(p.dk, [](TypeParam& x, auto...) { EXPECT_TRUE(std::isnan(static_cast<float>(x))); });
    check<TypeParam>({1, 1, 49, 33, 20}, 2, 1e-5, CpuLevel(level));
  }
}

TYPED_TEST(Attention, WithoutLseOrWork) {
  Problem<TypeParam> p({1, 2, 30, 30, 16}, 1), q({1, 2, 30, 30, 16}, 1);
  p.forward();
  attention_forward(q.spec, q.q.data(), q.k.data(), q.v.data(), q.out.data(), nullptr);
  EXPECT_EQ(std::memcmp(p.out.memory.data(), q.out.memory.data(),
                        p.out.memory.size() * sizeof(TypeParam)),
            0);
  check<TypeParam>({0, 2, 30, 30, 16}, 1);
  check<TypeParam>({1, 2, 0, 30, 16}, 1);  // dk and dv are zero
}

TEST(AttentionErrors, NameWhatIsWrong) {
  const auto message = [](auto change) -> std::string {
    Problem<float> p({1, 1, 4, 4, 8}, 1);
    change(p.spec);
    try {
      p.forward();
    } catch (const Error& e) {
      return e.what();
    }
    return "nothing thrown";
  };
  using testing::HasSubstr;
  EXPECT_THAT(message([](AttentionSpec& s) { s.dtype = DType::kI32; }), HasSubstr("i32"));
  EXPECT_THAT(message([](AttentionSpec& s) { s.head_dim = 257; }), HasSubstr("257"));
  EXPECT_THAT(message([](AttentionSpec& s) { s.kv_tokens = 0; }), HasSubstr("kv_tokens 0"));
  EXPECT_THAT(message([](AttentionSpec& s) { s.scale = -1; }), HasSubstr("positive"));
}

}  // namespace
}  // namespace centavo::cpu
