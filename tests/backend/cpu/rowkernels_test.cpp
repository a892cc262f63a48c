// The kernels that are bound by memory, each by itself: at every level, with one thread and with
// two, on odd sizes, in place where that is allowed.
#include <numeric>

#include "kernel_runner.h"

#include "centavo/ops/registry.h"

namespace centavo::cpu {
namespace {

constexpr DType kFloat = DType::kF32, kHalf = DType::kBF16;

CaseInput input(DType dtype, Shape shape, double low = -1, double high = 1) {
  return {{dtype, std::move(shape)}, low, high};
}

// Runs the kernel at every level with one and two threads: close to the oracle, the same bits each
// time, and the same bits for any number of threads in outputs below `row_outputs`.
void check(const Op& op, const Case& what, const std::vector<Array>& values, double tolerance,
           size_t row_outputs, const std::vector<int>& over = {}, double least = 1e-30) {
  const std::vector<Array> expected = expected_of(op, what, values);
  for (CpuLevel level : all_levels()) {
    SCOPED_TRACE(fmt::format("{} {} {}", op.name, what.label, name_of(level)));
    const Outcome one = run_kernel(op, what, values, {1, level});
    expect_close(expected, one.values, tolerance, least);
    const Outcome two = run_kernel(op, what, values, {2, level}, over);
    expect_close(expected, two.values, tolerance, least);
    const Outcome again = run_kernel(op, what, values, {2, level});
    for (size_t o = 0; o < one.bytes.size(); ++o) {
      EXPECT_EQ(two.bytes[o], again.bytes[o]) << "output " << o;
      EXPECT_TRUE(o >= row_outputs || one.bytes[o] == two.bytes[o]) << "output " << o;
    }
    if (testing::Test::HasFailure()) return;
  }
}

// Rows x widths: around the widths of vectors, and enough for two threads.
const std::vector<std::pair<int64_t, int64_t>> kSizes = {
    {1, 1}, {5, 3}, {2, 17}, {7, 31}, {3, 197}, {193, 197}, {41, 1000}, {9, 4099}};

Case layer_norm_case(DType x, DType weight, int64_t rows, int64_t width) {
  return {fmt::format("{}x{} {} {}", rows, width, name_of(x), name_of(weight)),
          {input(x, {rows, width}, -2, 3), input(weight, {width}), input(weight, {width})},
          Attrs().set("eps", 1e-6)};
}

TEST(LayerNorm, MatchesTheOracle) {
  uint64_t seed = 1;
  for (DType x : {kFloat, kHalf}) {
    for (DType weight : {kFloat, kHalf}) {
      for (auto [rows, width] : kSizes) {
        const Case what = layer_norm_case(x, weight, rows, width);
        check(op_layer_norm, what, draw_inputs(what, seed++), 3e-6, 3);
      }
    }
  }
}

TEST(LayerNorm, GradientMatchesTheOracle) {
  uint64_t seed = 100;
  for (DType x : {kFloat, kHalf}) {
    for (DType weight : {kFloat, kHalf}) {
      for (auto [rows, width] : kSizes) {
        const Case what{
            fmt::format("{}x{} {} {}", rows, width, name_of(x), name_of(weight)),
            {input(x, {rows, width}), input(weight, {width}), input(kFloat, {rows}, -0.2, 0.2),
             input(kFloat, {rows}, 0.5, 2), input(x, {rows, width})}};
        check(op_layer_norm_grad, what, draw_inputs(what, seed++), 3e-6, 1);
      }
    }
  }
}

// A mean far from zero must not swallow the variance, nor large values overflow.
TEST(LayerNorm, KeepsItsAccuracyFarFromZero) {
  const Case what = layer_norm_case(kFloat, kFloat, 5, 771);
  for (auto [scale, offset] : {std::pair{1.0, 1e4}, {1e15, 0.0}, {1e-12, 0.0}}) {
    std::vector<Array> values = draw_inputs(what, 7);
    for (double& x : values[0].reals) x = static_cast<float>(x * scale + offset);
    const std::vector<Array> expected = expected_of(op_layer_norm, what, values);
    for (CpuLevel level : all_levels()) {
      SCOPED_TRACE(fmt::format("{} + {} {}", scale, offset, name_of(level)));
      // The mean is a float: an ulp of 1e4 is 1e-3.
      expect_close(expected, run_kernel(op_layer_norm, what, values, {1, level}).values,
                   offset > 0 ? 2e-3 : 3e-6);
    }
  }
}

TEST(LayerNorm, PassesNotANumberOn) {
  const Case what = layer_norm_case(kHalf, kFloat, 3, 50);
  std::vector<Array> values = draw_inputs(what, 8);
  values[0].reals[70] = std::nan("");
  for (CpuLevel level : all_levels()) {
    const Outcome out = run_kernel(op_layer_norm, what, values, {1, level});
    for (int64_t i = 0; i < 150; ++i)
      EXPECT_EQ(std::isnan(out.values[0].number(i)), i / 50 == 1) << name_of(level) << " " << i;
  }
}

// -- updates

struct Dtypes {
  DType parameter, gradient;
};
constexpr Dtypes kUpdates[] = {{kFloat, kFloat}, {kFloat, kHalf}, {kHalf, kHalf}, {kHalf, kFloat}};

TEST(Updates, AdamMatchesTheOracleAndRunsInPlace) {
  uint64_t seed = 200;
  for (auto [p, g] : kUpdates) {
    for (int64_t n : {1, 17, 197, 40001}) {
      for (double decay : {0.0, 0.1}) {
        for (bool decoupled : {false, true}) {
          const Case what{fmt::format("{} {} {} decay {}{}", n, name_of(p), name_of(g), decay,
                                      decoupled ? " decoupled" : ""),
                          {input(p, {n}), input(g, {n}), input(p, {n}), input(p, {n}, 0, 1),
                           input(kFloat, {3}, 0.01, 0.2)},
                          Attrs()
                              .set("beta1", 0.9)
                              .set("beta2", 0.999)
                              .set("eps", 1e-8)
                              .set("weight_decay", decay)
                              .set("decoupled", decoupled)};
          check(op_adam_update, what, draw_inputs(what, seed++), 1e-6, 3, {0, 2, 3});
        }
      }
    }
  }
}

TEST(Updates, SgdMatchesTheOracleAndRunsInPlace) {
  uint64_t seed = 300;
  for (auto [p, g] : kUpdates) {
    for (int64_t n : {1, 17, 197, 40001}) {
      for (double momentum : {0.0, 0.9}) {
        for (bool nesterov : {false, true}) {
          Case what{fmt::format("{} {} {} momentum {}", n, name_of(p), name_of(g), momentum),
                    {input(p, {n}), input(g, {n})},
                    Attrs()
                        .set("momentum", momentum)
                        .set("dampening", nesterov ? 0.0 : 0.1)
                        .set("weight_decay", 0.1)
                        .set("nesterov", nesterov)};
          std::vector<int> over = {0};
          if (momentum != 0) {
            what.inputs.push_back(input(p, {n}));
            over.push_back(2);
          }
          what.inputs.push_back(input(kFloat, {1}, 0.01, 0.2));
          check(op_sgd_update, what, draw_inputs(what, seed++), 1e-6, 2, over);
        }
      }
    }
  }
}

// Without decay, an infinite parameter stays what it is.
TEST(Updates, NoDecayReadsNoParameter) {
  Case what{"infinite",
            {input(kFloat, {5}), input(kFloat, {5}), input(kFloat, {5}), input(kFloat, {5}, 0, 1),
             input(kFloat, {3}, 0.01, 0.2)},
            Attrs()
                .set("beta1", 0.9)
                .set("beta2", 0.999)
                .set("eps", 1e-8)
                .set("weight_decay", 0.0)
                .set("decoupled", false)};
  std::vector<Array> values = draw_inputs(what, 9);
  values[0].reals[3] = std::numeric_limits<double>::infinity();
  for (CpuLevel level : all_levels()) {
    const Outcome out = run_kernel(op_adam_update, what, values, {1, level});
    EXPECT_TRUE(std::isinf(out.values[0].number(3))) << name_of(level);
    EXPECT_TRUE(std::isfinite(out.values[1].number(3))) << name_of(level);
  }
}

// -- softmax and losses

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Softmax, MatchesTheOracleAndRunsInPlace) {
  uint64_t seed = 800;
  for (DType dtype : {kFloat, kHalf}) {
    for (auto [rows, width] : kSizes) {
      const Case what{fmt::format("{}x{} {}", rows, width, name_of(dtype)),
                      {input(dtype, {rows, width}, -8, 8)}};
      check(op_softmax, what, draw_inputs(what, seed++), 4e-6, 1, {0});
    }
  }
}

Case loss_case(DType dtype, int64_t rows, int64_t width, double smoothing) {
  return {fmt::format("{}x{} {} smoothing {}", rows, width, name_of(dtype), smoothing),
          {input(dtype, {rows, width}, -8, 8),
           input(DType::kI32, {rows}, 0, static_cast<double>(width) - 1)},
          Attrs().set("label_smoothing", smoothing)};
}
Case loss_grad_case(DType dtype, int64_t rows, int64_t width, double smoothing) {
  Case what = loss_case(dtype, rows, width, smoothing);
  what.inputs.push_back(input(kFloat, {rows}, 5, 12));
  what.inputs.push_back(input(kFloat, {rows}));
  return what;
}

TEST(CrossEntropy, MatchesTheOracle) {
  uint64_t seed = 900;
  for (DType dtype : {kFloat, kHalf}) {
    for (double smoothing : {0.0, 0.1}) {
      for (auto [rows, width] : kSizes) {
        const Case what = loss_case(dtype, rows, width, smoothing);
        check(op_cross_entropy, what, draw_inputs(what, seed++), 2e-6, 2, {}, 1);
        const Case grad = loss_grad_case(dtype, rows, width, smoothing);
        check(op_cross_entropy_grad, grad, draw_inputs(grad, seed++), 2e-6, 1, {0}, 1);
      }
    }
  }
}

// The vocabulary of GPT-2, with logits that grow from block to block.
TEST(CrossEntropy, RescalesOverManyBlocks) {
  const Case what = loss_case(kFloat, 2, 50257, 0.1);
  std::vector<Array> values = draw_inputs(what, 10);
  for (size_t i = 0; i < 50257; ++i)
    values[0].reals[i] = static_cast<float>(values[0].reals[i] + static_cast<double>(i) / 500);
  check(op_cross_entropy, what, values, 2e-6, 2);
}

// -inf masks a class; large logits must not overflow.
TEST(CrossEntropy, TakesMasksAndLargeLogits) {
  const Case what = loss_case(kFloat, 3, 9000, 0);
  std::vector<Array> values = draw_inputs(what, 11);
  for (size_t i = 0; i < 5000; ++i) values[0].reals[i] = -kInfinity;
  for (size_t i = 9000; i < 18000; ++i) values[0].reals[i] *= 0x1p60;
  values[1].wholes = {8999, 17, 5};
  for (CpuLevel level : all_levels()) {
    const std::vector<Array> out = run_kernel(op_cross_entropy, what, values, {1, level}).values;
    double sum = 0;
    for (size_t i = 5000; i < 9000; ++i) sum += std::exp(values[0].reals[i]);
    EXPECT_NEAR(out[1].number(0), std::log(sum), 1e-5) << name_of(level);
    EXPECT_NEAR(out[0].number(0), std::log(sum) - values[0].reals[8999], 1e-5) << name_of(level);
    const double top =
        *std::max_element(values[0].reals.begin() + 9000, values[0].reals.begin() + 18000);
    EXPECT_EQ(out[1].number(1), static_cast<float>(top)) << name_of(level);
  }
}

TEST(CrossEntropy, ALabelThatIsNoClassGivesNotANumber) {
  for (DType dtype : {kFloat, kHalf}) {
    const Case what = loss_case(dtype, 5, 17, 0.1), grad = loss_grad_case(dtype, 5, 17, 0.1);
    for (const auto& [op, the_case] :
         {std::pair{&op_cross_entropy, &what}, {&op_cross_entropy_grad, &grad}}) {
      std::vector<Array> values = draw_inputs(*the_case, 12);
      values[1].wholes = {16, -1, 17, 0, std::numeric_limits<int32_t>::min()};
      const std::vector<Array> expected = expected_of(*op, *the_case, values);
      const int64_t per_row = expected[0].size() / 5;
      for (CpuLevel level : all_levels()) {
        const Outcome out = run_kernel(*op, *the_case, values, {1, level});
        for (int64_t i = 0; i < expected[0].size(); ++i) {
          const int64_t row = i / per_row;
          EXPECT_EQ(std::isnan(out.values[0].number(i)), row == 1 || row == 2 || row == 4);
        }
        expect_close(expected, out.values, 2e-6);
      }
    }
  }
}

// -- moves of elements: exact, for elements of every size

using Ints = std::vector<int64_t>;

constexpr DType kElements[] = {DType::kBool, DType::kU8,  DType::kI8,  DType::kBF16,
                               DType::kF32,  DType::kI32, DType::kI64, DType::kF64};

void check_move(const Op& op, std::vector<Shape> shapes, const Attrs& attrs, uint64_t seed) {
  for (DType dtype : kElements) {
    Case what{fmt::format("{} {}", name_of(dtype), to_string(attrs)), {}, attrs};
    const double low = is_floating(dtype) || dtype == DType::kI8 ? -100 : 0,
                 high = dtype == DType::kBool ? 1 : 100;
    for (const Shape& shape : shapes) what.inputs.push_back(input(dtype, shape, low, high));
    check(op, what, draw_inputs(what, seed), 0, 1);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Movement, TransposesByAnyPermutation) {
  uint64_t seed = 400;
  const std::vector<Shape> shapes = {{1, 1},    {17, 33},      {3, 197},      {1000, 3},
                                     {70, 300}, {260, 1100},   {2, 33, 50},   {5, 3, 7},
                                     {0, 4},    {2, 17, 3, 4}, {3, 20, 1, 35}};
  for (const Shape& shape : shapes) {
    Ints permutation(static_cast<size_t>(shape.rank()));
    std::iota(permutation.begin(), permutation.end(), 0);
    while (std::next_permutation(permutation.begin(), permutation.end()))
      check_move(op_transpose, {shape}, Attrs().set("permutation", permutation), seed++);
  }
}

TEST(Movement, SlicesAndReverses) {
  auto slice = [](Ints start, Ints limit, Ints strides) {
    return Attrs().set("start", start).set("limit", limit).set("strides", strides);
  };
  check_move(op_slice, {{5, 17}}, slice({1, 3}, {4, 10}, {1, 1}), 500);
  check_move(op_slice, {{97, 1009}}, slice({1, 0}, {97, 1009}, {2, 3}), 501);
  check_move(op_slice, {{3, 197, 100}}, slice({0, 0, 0}, {3, 1, 100}, {1, 1, 1}), 502);
  check_move(op_slice, {{3, 197, 100}}, slice({0, 1, 0}, {3, 197, 100}, {1, 1, 1}), 503);
  check_move(op_slice, {{50000}}, slice({7}, {49999}, {1}), 504);
  check_move(op_slice, {{4, 5}}, slice({2, 2}, {2, 5}, {1, 1}), 505);
  check_move(op_reverse, {{50000}}, Attrs().set("dims", Ints{0}), 506);
  check_move(op_reverse, {{3, 5, 7, 11}}, Attrs().set("dims", Ints{1, 3}), 507);
}

TEST(Movement, BroadcastsAndConcatenates) {
  auto broadcast = [](Ints shape, Ints dims) {
    return Attrs().set("shape", shape).set("dims", dims);
  };
  check_move(op_broadcast_in_dim, {{}}, broadcast({33, 1001}, {}), 600);
  check_move(op_broadcast_in_dim, {{17}}, broadcast({5, 17}, {1}), 601);
  check_move(op_broadcast_in_dim, {{197}}, broadcast({197, 333}, {0}), 602);
  check_move(op_broadcast_in_dim, {{3, 1, 4}}, broadcast({3, 6, 4}, {0, 1, 2}), 603);
  check_move(op_broadcast_in_dim, {{7, 3}}, broadcast({7, 5, 3, 2}, {0, 2}), 604);
  check_move(op_broadcast_in_dim, {{2, 1}}, broadcast({0, 2, 3}, {1, 2}), 605);
  check_move(op_concatenate, {{2, 1, 5}, {2, 4, 5}}, Attrs().set("axis", 1), 606);
  check_move(op_concatenate, {{60, 197, 3}, {1, 197, 3}, {2, 197, 3}}, Attrs().set("axis", 0), 607);
  check_move(op_concatenate, {{197, 3}, {197, 100}, {197, 0}, {197, 70}}, Attrs().set("axis", 1),
             608);
}

TEST(Movement, Pads) {
  auto padding = [](Ints low, Ints high, Ints interior) {
    return Attrs().set("value", 1.0).set("low", low).set("high", high).set("interior", interior);
  };
  check_move(op_pad, {{3, 5}}, padding({1, 0}, {2, 3}, {0, 0}), 700);
  check_move(op_pad, {{4}}, padding({0}, {1}, {2}), 701);
  check_move(op_pad, {{3, 1, 100}}, padding({0, 0, 0}, {0, 196, 0}, {0, 0, 0}), 702);
  check_move(op_pad, {{2, 13, 14, 7}}, padding({0, 1, 1, 0}, {0, 1, 2, 0}, {0, 1, 0, 0}), 703);
  check_move(op_pad, {{1, 150, 151}}, padding({0, 3, 1}, {0, 1, 40}, {0, 0, 0}), 704);
  check_move(op_pad, {{2, 0, 3}}, padding({0, 2, 1}, {0, 1, 0}, {0, 0, 0}), 705);
}

}  // namespace
}  // namespace centavo::cpu
