// Exported modules: an independent parser accepts them, their bytes repeat, and the rewrites before
// them keep the values.
#include "centavo/stablehlo/emit.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <gmock/gmock.h>

#include "tests/stablehlo/steps.h"
#include "tests/temp_dir.h"

#include "centavo/backend/reference/reference_backend.h"
#include "centavo/ops/ops.h"
#include "centavo/stablehlo/legalize.h"

namespace centavo::stablehlo {
namespace {

using testing::HasSubstr;

void expect_parses(const std::string& text) {
  if (std::system("command -v mlir-opt-19 >/dev/null") != 0) {
    ASSERT_EQ(std::getenv("CENTAVO_REQUIRE_DATA"), nullptr) << "install mlir-19-tools";
    GTEST_SKIP() << "mlir-opt-19 is not installed";
  }
  TempDir dir;
  std::ofstream(dir / "step.mlir") << text;
  const std::string command =
      "mlir-opt-19 --allow-unregistered-dialect -o /dev/null " + (dir / "step.mlir").string();
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(Emit, TrainingStepsParseAndRepeat) {
  for (const char* name : {"mlp", "resnet18", "resnet50", "vit_tiny_patch16_224"}) {
    SCOPED_TRACE(name);
    const std::string text = emit(step_of(name, 0.1), {.module_name = "training_step"});
    EXPECT_EQ(text, emit(step_of(name, 0.1), {.module_name = "training_step"}));
    EXPECT_THAT(text, HasSubstr("tf.aliasing_output = 1 : i32"));
    expect_parses(text);
  }
}

TEST(Emit, AllReduceSaysHowManyReplicas) {
  const Tensor x = make_input({DType::kBF16, {3}});
  const std::string text = emit(build_graph({x}, all_reduce({x}, 4, 0.25)));
  EXPECT_THAT(text, HasSubstr("mhlo.num_replicas = 4 : i32"));
  EXPECT_THAT(text, HasSubstr("replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>"));
  EXPECT_THAT(text, HasSubstr("dense<0.25> : tensor<3xf32>"));
  expect_parses(text);
}

TEST(Emit, ConstantsAreExact) {
  const Tensor x = make_input({DType::kF32, {2}});
  const std::string text = emit(
      build_graph({x}, {x * 0.1, x + 1e-20, maximum(x, full_like(x, -INFINITY)), sum(x, {0})}));
  EXPECT_THAT(text, HasSubstr("dense<0.1> : tensor<2xf32>"));
  EXPECT_THAT(text, HasSubstr("dense<1.0e-20> : tensor<2xf32>"));
  EXPECT_THAT(text, HasSubstr("dense<0xFF800000> : tensor<2xf32>"));
  expect_parses(text);
}

TEST(Legalize, RandomWordsAreTheSame) {
  const Tensor key = make_input({DType::kU32, {2}});
  const Graph graph = build_graph({key}, {random_bits(key, {5, 7}, (int64_t{3} << 32) + 9)});
  Array value({DType::kU32, {2}});
  value.wholes = {0xdeadbeef, 0x12345678};
  EXPECT_EQ(interpret(legalize(graph), {value})[0].wholes, interpret(graph, {value})[0].wholes);
}

// Evaluated in double, the approximation is off by less than fp32's rounding.
TEST(Legalize, ErfIsClose) {
  constexpr double kRoundoff = 0x1p-24;
  const Tensor x = make_input({DType::kF32, {1201}});
  Array value({DType::kF32, {1201}});
  for (int64_t i = 0; i < value.size(); ++i) value.set(i, static_cast<double>(i - 600) / 100);
  const Array result = interpret(legalize(build_graph({x}, {erf(x)})), {value})[0];
  for (int64_t i = 0; i < value.size(); ++i) {
    const double exact = std::erf(value.number(i));
    EXPECT_NEAR(result.number(i), exact, kRoundoff * std::fabs(exact)) << value.number(i);
  }
}

}  // namespace
}  // namespace centavo::stablehlo
