// The forms that JAX and torch_xla print, functions inlined, and ops that Centavo composes of its
// primitives.
#include <cmath>
#include <gmock/gmock.h>

#include "centavo/backend/reference/reference_backend.h"
#include "centavo/stablehlo/expectation.h"
#include "centavo/stablehlo/parse.h"
#include "centavo/stablehlo/source.h"

namespace centavo::stablehlo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// What the reference interpreter makes of @main, each result as numbers.
std::vector<std::vector<double>> run(const std::string& text,
                                     const std::vector<std::vector<double>>& arguments = {}) {
  const Program program = parse_program(text, "a.mlir");
  std::vector<Array> inputs;
  for (size_t i = 0; i < arguments.size(); ++i) {
    Array input(program.graph.inputs.at(i).type());
    for (size_t e = 0; e < arguments[i].size(); ++e)
      input.set(static_cast<int64_t>(e), arguments[i][e]);
    inputs.push_back(input);
  }
  std::vector<std::vector<double>> results;
  for (const Array& output : interpret(program.graph, inputs)) {
    std::vector<double> numbers;
    for (int64_t i = 0; i < output.size(); ++i) numbers.push_back(output.number(i));
    results.push_back(numbers);
  }
  return results;
}

// A body that uses %x: tensor<4xi32> = [0, 1, 2, 3] and returns tensor<TYPE>.
std::vector<double> run_on_count(const std::string& type, const std::string& body) {
  return run("func.func @main() -> tensor<" + type +
             "> {\n  %x = stablehlo.iota dim = 0 : tensor<4xi32>\n" + body + "\n}\n")[0];
}

// jax.jit(lambda w, x: jnp.tanh(x @ w).sum(1)) as JAX prints it, with locations.
TEST(Pretty, AsJaxPrints) {
  const auto results = run(R"(#loc1 = loc("w")
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x2xf32> {mhlo.layout_mode = "default"} loc("w"), %arg1: tensor<1x2xf32> loc("x")) -> (tensor<1xf32> {jax.result_info = "", mhlo.layout_mode = "default"}) {
    %0 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32> loc(#loc2)
    %1 = call @tanh(%0) : (tensor<1x2xf32>) -> tensor<1x2xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32> loc(#loc)
    %2 = stablehlo.reduce(%1 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<1x2xf32>, tensor<f32>) -> tensor<1xf32>
    return %2 : tensor<1xf32> loc(#loc)
  } loc(#loc)
  func.func private @tanh(%arg0: tensor<1x2xf32>) -> tensor<1x2xf32> {
    %0 = stablehlo.tanh %arg0 : tensor<1x2xf32>
    return %0 : tensor<1x2xf32>
  }
} loc(#loc)
#loc = loc(unknown)
#loc2 = loc("jit(f)/dot_general"(#loc1))
)",
                           {{1, 2, 3, 4}, {0.5, -0.25}});
  EXPECT_THAT(results[0], ElementsAre(testing::DoubleNear(std::tanh(-0.25), 1e-12)));
}

TEST(Pretty, ArgumentOfTheMaximum) {
  EXPECT_THAT(run_on_count("i32", R"(
  %v = stablehlo.constant dense<[3, 9, 4, 9]> : tensor<4xi32>
  %low = stablehlo.constant dense<-100> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%v init: %low), (%x init: %zero) across dimensions = [0] : (tensor<4xi32>, tensor<4xi32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
   reducer(%a: tensor<i32>, %c: tensor<i32>) (%b: tensor<i32>, %d: tensor<i32>)  {
    %0 = stablehlo.compare  GE, %a, %c,  SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %1 = stablehlo.select %0, %a, %c : tensor<i1>, tensor<i32>
    %2 = stablehlo.select %0, %b, %d : tensor<i1>, tensor<i32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<i32>
  }
  return %r#1 : tensor<i32>)"),
              ElementsAre(1));
}

TEST(Pretty, LoopsUnrollAndBranchesSelect) {
  EXPECT_THAT(run_on_count("4xi32", R"(
  %i0 = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %r:2 = stablehlo.while(%i = %i0, %y = %x) : tensor<i32>, tensor<4xi32>
   cond {
    %c = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %n = stablehlo.add %i, %one : tensor<i32>
    %s = stablehlo.add %y, %x : tensor<4xi32>
    stablehlo.return %n, %s : tensor<i32>, tensor<4xi32>
  }
  return %r#1 : tensor<4xi32>)"),
              ElementsAre(0, 6, 12, 18));
  const std::string branches = R"(func.func @main(%p: tensor<i1>) -> tensor<f32> {
  %a = stablehlo.constant dense<2.0> : tensor<f32>
  %r = "stablehlo.if"(%p) ({
    stablehlo.return %a : tensor<f32>
  }, {
    %b = stablehlo.negate %a : tensor<f32>
    stablehlo.return %b : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  return %r : tensor<f32>
})";
  EXPECT_THAT(run(branches, {{1}})[0], ElementsAre(2));
  EXPECT_THAT(run(branches, {{0}})[0], ElementsAre(-2));
}

TEST(Pretty, WindowsOfAnyKind) {
  const char* product = R"(
  %one = stablehlo.constant dense<1> : tensor<i32>
  %y = stablehlo.add %x, %b : tensor<4xi32>
  %r = "stablehlo.reduce_window"(%y, %one) <{padding = dense<[[2, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 3>}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %m = stablehlo.multiply %p, %q : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  return %r : tensor<4xi32>)";
  EXPECT_THAT(run_on_count("4xi32", "  %b = stablehlo.constant dense<2> : tensor<4xi32>" +
                                        std::string(product)),
              ElementsAre(2, 6, 24, 60));
}

TEST(Pretty, ConvolutionsOfOtherLayouts) {
  EXPECT_THAT(run_on_count("1x1x5xf32", R"(
  %f = stablehlo.convert %x : (tensor<4xi32>) -> tensor<4xf32>
  %i = stablehlo.reshape %f : (tensor<4xf32>) -> tensor<1x1x4xf32>
  %k = stablehlo.constant dense<[[[1.0], [10.0]]]> : tensor<1x2x1xf32>
  %r = stablehlo.convolution(%i, %k) dim_numbers = [b, f, 0]x[i, 0, o]->[b, f, 0], window = {stride = [1], pad = [[1, 1]], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x4xf32>, tensor<1x2x1xf32>) -> tensor<1x1x5xf32>
  return %r : tensor<1x1x5xf32>)"),
              ElementsAre(0, 1, 12, 23, 30));
}

TEST(Pretty, ComposedArithmetic) {
  auto unary = [](const std::string& op) {
    return run_on_count(
        "4xi32", "  %b = stablehlo.constant dense<[7, -8, 1, -9]> : tensor<4xi32>\n  %r = " + op +
                     " : tensor<4xi32>\n  return %r : tensor<4xi32>");
  };
  EXPECT_THAT(unary("stablehlo.shift_left %b, %x"), ElementsAre(7, -16, 4, -72));
  EXPECT_THAT(unary("stablehlo.shift_right_arithmetic %b, %x"), ElementsAre(7, -4, 0, -2));
  EXPECT_THAT(unary("stablehlo.power %b, %x"), ElementsAre(1, -8, 1, -729));
  EXPECT_THAT(unary("stablehlo.popcnt %b"), ElementsAre(3, 29, 1, 31));
  EXPECT_THAT(unary("stablehlo.count_leading_zeros %b"), ElementsAre(29, 0, 31, 0));
  EXPECT_THAT(unary("stablehlo.remainder %b, %b"), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(unary("stablehlo.sign %b"), ElementsAre(1, -1, 1, -1));
  EXPECT_THAT(unary("stablehlo.clamp %x, %b, %x"), ElementsAre(0, 1, 2, 3));
}

// Comparisons, logarithms and cosines of what is no finite number, and integers that no double
// holds.
TEST(Pretty, DevicesAgreeAtTheEdges) {
  const Graph graph = parse(
      R"(func.func @main() -> (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>, tensor<2xi64>, tensor<2xui64>) {
  %x = stablehlo.constant dense<[2.0, 0x7FC00000, 0x7F800000, -2.0]> : tensor<4xf32>
  %a = stablehlo.compare NE, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %b = stablehlo.log %x : tensor<4xf32>
  %c = stablehlo.cosine %x : tensor<4xf32>
  %i = stablehlo.constant dense<9223372036854775807> : tensor<2xi64>
  %k = stablehlo.constant dense<1> : tensor<2xi64>
  %d = stablehlo.minimum %i, %k : tensor<2xi64>
  %u = stablehlo.constant dense<18446744073709551615> : tensor<2xui64>
  %v = stablehlo.constant dense<1> : tensor<2xui64>
  %e = stablehlo.maximum %u, %v : tensor<2xui64>
  return %a, %b, %c, %d, %e : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>, tensor<2xi64>, tensor<2xui64>
})",
      "a.mlir");
  for (const char* name : {"cpu", "reference"}) {
    SCOPED_TRACE(name);
    std::vector<Array> results;
    for (const BufferPtr& buffer : open_device(name)->compile(graph)->run({})) {
      std::vector<std::byte> bytes(static_cast<size_t>(buffer->type().bytes()));
      buffer->read(bytes.data());
      results.push_back(Array::from_bytes(buffer->type(), bytes.data()));
    }
    EXPECT_THAT(results[0].wholes, ElementsAre(0, 1, 0, 0));
    EXPECT_NEAR(results[1].reals[0], std::log(2.0), 1e-6);
    EXPECT_TRUE(std::isnan(results[1].reals[1]) && std::isnan(results[1].reals[3]));
    EXPECT_EQ(results[1].reals[2], INFINITY);
    EXPECT_TRUE(std::isnan(results[2].reals[1]) && std::isnan(results[2].reals[2]));
    EXPECT_THAT(results[3].wholes, ElementsAre(1, 1));
    EXPECT_THAT(results[4].wholes, ElementsAre(-1, -1));  // 2^64 - 1
  }
}

TEST(Pretty, ExpectationsAreKept) {
  const Program program = parse_program(R"(func.func @f() {
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  check.expect_almost_eq_const %a, dense<[1.00001, 2.0]> : tensor<2xf32>
  check.expect_eq_const %a, dense<[1.0, 2.5]> : tensor<2xf32>
  func.return
})",
                                        "a.mlir", "f");
  ASSERT_EQ(program.expectations.size(), 2u);
  EXPECT_EQ(program.results, 0u);
  const float actual[] = {1, 2}, almost[] = {1.00001f, 2}, other[] = {1, 2.5f};
  EXPECT_EQ(mismatch(program.expectations[0], actual, almost), std::nullopt);
  EXPECT_EQ(mismatch(program.expectations[1], actual, other), "element 1 is 2, expected 2.5");
  EXPECT_EQ(program.expectations[1].place, "a.mlir:4:3");
}

TEST(Pretty, WhatIsNotSupportedSaysSo) {
  auto error_of = [](const std::string& body) -> std::string {
    try {
      run("func.func @main(%n: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {\n" + body +
          "\n}");
    } catch (const Unsupported& e) {
      return e.what();
    }
    return "supported";
  };
  EXPECT_THAT(error_of("  %0 = stablehlo.cholesky %x, lower = true : tensor<4xf32>\n  return %0 : "
                       "tensor<4xf32>"),
              HasSubstr("[a.mlir:2:8] unsupported: stablehlo.cholesky"));
  EXPECT_THAT(error_of("  %0 = shape.shape_of %x : tensor<4xf32>"),
              HasSubstr("[a.mlir:2:8] unsupported: shape.shape_of"));
  EXPECT_THAT(error_of(R"(  %r = stablehlo.while(%i = %n) : tensor<i32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    stablehlo.return %i : tensor<i32>
  }
  return %x : tensor<4xf32>)"),
              HasSubstr("a number of iterations that depends on inputs"));
}

}  // namespace
}  // namespace centavo::stablehlo
