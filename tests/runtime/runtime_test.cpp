// Recording, eval, compiled functions, donation, caching and errors, on the CPU backend.
#include "centavo/runtime/runtime.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "centavo/autodiff/grad.h"
#include "centavo/ops/ops.h"
#include "centavo/runtime/metrics.h"

namespace centavo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Eval, RunsWhatIsNeededAndKeepsValues) {
  Tensor a = from_vector<float>({3}, {1, 2, 3});
  Tensor b = a * 2.0 + 1.0;
  Tensor c = sum(b);
  EXPECT_EQ(item(c), 15);
  EXPECT_THAT(to_vector<float>(b), ElementsAre(3, 5, 7));
  EXPECT_THAT(to_vector<float>(a + b), ElementsAre(4, 7, 10));  // b is a leaf by now
}

TEST(Eval, IdentityOfAnInput) {
  Tensor a = from_vector<float>({2}, {1, 2});
  Tensor r = reshape(a, {2, 1});
  EXPECT_THAT(to_vector<float>(r), ElementsAre(1, 2));
  EXPECT_THAT(to_vector<float>(a), ElementsAre(1, 2));
}

TEST(Compile, OncePerSignature) {
  int recordings = 0;
  CompiledFunction f = compile([&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    ++recordings;
    return {in[0] * in[1]};
  });
  for (int i = 0; i < 3; ++i) {
    Tensor x = from_vector<float>({2}, {float(i), 2});
    EXPECT_THAT(to_vector<float>(f({x, x})[0]), ElementsAre(i * i, 4));
  }
  EXPECT_EQ(recordings, 1);
  Tensor y = from_vector<float>({1}, {3});
  EXPECT_THAT(to_vector<float>(f({y, y})[0]), ElementsAre(9));
  EXPECT_EQ(recordings, 2);
}

TEST(Compile, EqualGraphsShareAnExecutable) {
  auto body = [](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    return {exp(in[0] - 0.123)};
  };
  CompiledFunction f = compile(body), g = compile(body);
  int64_t before = counter("Compile");
  Tensor x = from_vector<float>({2}, {0, 1});
  f({x});
  g({x});
  EXPECT_EQ(counter("Compile") - before, 1);
}

TEST(Compile, DonationUpdatesInPlaceAndInvalidates) {
  CompiledFunction step = compile(
      [](const std::vector<Tensor>& in) -> std::vector<Tensor> {
        return {sum(in[0] * in[1]), in[0] - in[1]};
      },
      {.name = "step", .donate = {{1, 0}}});
  Tensor w = from_vector<float>({2}, {10, 20}), d = from_vector<float>({2}, {1, 2});
  std::vector<Tensor> out;
  Tensor old = w;
  for (int i = 0; i < 3; ++i) {
    out = step({w, d});
    w = out[1];
  }
  EXPECT_EQ(item(out[0]), 8 * 1 + 16 * 2);
  EXPECT_THAT(to_vector<float>(w), ElementsAre(7, 14));
  EXPECT_THROW(to_vector<float>(old), Error);
  EXPECT_EQ(step.prepare({d.type(), d.type()}).output_bytes, 4);
}

// Two states that swap places cannot take over each other's buffer; the values must be right all
// the same.
TEST(Compile, SwappedDonation) {
  CompiledFunction swap = compile(
      [](const std::vector<Tensor>& in) -> std::vector<Tensor> {
        return {in[1], in[0] + 1.0};
      },
      {.donate = {{0, 0}, {1, 1}}});
  Tensor a = from_vector<float>({1}, {1}), b = from_vector<float>({1}, {2});
  for (int i = 0; i < 2; ++i) {
    std::vector<Tensor> out = swap({a, b});
    a = out[0], b = out[1];
  }
  EXPECT_EQ(item(a), 2);
  EXPECT_EQ(item(b), 3);
}

// A run's inputs are let go when it has finished, however many runs depend on each other.
TEST(Compile, ManyStepsKeepNoMemory) {
  CompiledFunction step = compile(
      [](const std::vector<Tensor>& in) -> std::vector<Tensor> { return {in[0] + sum(in[1])}; },
      {.donate = {{0, 0}}});
  auto resident = [] {
    long pages = 0, total = 0;
    std::ifstream("/proc/self/statm") >> total >> pages;
    return pages * 4096L;
  };
  Tensor state = from_vector<float>({1}, {0});
  const std::vector<float> big(1 << 20, 1.0f);
  long before = 0;
  for (int i = 0; i < 60; ++i) {
    state = step({state, from_vector<float>({1 << 20}, big)})[0];
    item(state + 0.0);
    if (i == 10) before = resident();
  }
  EXPECT_LT(resident() - before, 40L << 20);  // kept inputs would be 196 MiB
}

TEST(Grad, ThroughSharedValues) {
  Tensor x = from_vector<float>({2}, {3, -1});
  Tensor y = sum(x * x * x);
  EXPECT_THAT(to_vector<float>(grad(y, {x})[0]), ElementsAre(27, 3));
  EXPECT_THAT(to_vector<float>(grad(sum(stop_gradient(x) * x), {x})[0]), ElementsAre(3, -1));
}

TEST(Grad, LongChainsDoNotOverflowTheStack) {
  Tensor x = from_vector<float>({1}, {1});
  Tensor y = x;
  for (int i = 0; i < 50000; ++i) y = y + 0.0;
  EXPECT_TRUE(y.defined());
  y = Tensor();
}

TEST(Errors, NameTheOpAndThePlace) {
  Tensor a = from_vector<float>({2}, {1, 2}), b = from_vector<float>({3}, {1, 2, 3});
  try {
    add(a, b);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("[add]"));
    EXPECT_THAT(e.what(), HasSubstr("runtime_test.cpp"));
  }
  EXPECT_THROW(open_device("gpu"), Error);
  EXPECT_THROW(grad(a, {a}), Error);
  EXPECT_THROW(from_vector<float>({3}, {1, 2}), Error);
}

}  // namespace
}  // namespace centavo
