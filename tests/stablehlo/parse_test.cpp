// The parser reads back what the printer writes, and says where a malformed module is wrong.
#include "centavo/stablehlo/parse.h"

#include <gmock/gmock.h>

#include "tests/stablehlo/steps.h"

#include "centavo/backend/reference/reference_backend.h"
#include "centavo/ops/ops.h"
#include "centavo/runtime/runtime.h"
#include "centavo/stablehlo/emit.h"

namespace centavo::stablehlo {
namespace {

using testing::HasSubstr;

// Small numbers of either sign in every floating input, 0 to 4 in the others.
std::vector<BufferPtr> some_inputs(const Graph& graph, Backend& device) {
  std::vector<BufferPtr> buffers;
  uint32_t random = 1;
  for (const Tensor& input : graph.inputs) {
    Array value(input.type());
    for (int64_t i = 0; i < value.size(); ++i) {
      random = random * 1664525 + 1013904223;
      value.set(i, value.floating() ? 0.1 * (random * 0x1p-32 - 0.5) : static_cast<double>(i % 5));
    }
    std::vector<std::byte> bytes(static_cast<size_t>(input.type().bytes()));
    value.to_bytes(bytes.data());
    buffers.push_back(device.upload(input.type(), bytes.data()));
  }
  return buffers;
}

// The first output of `steps` runs, in which outputs take the places of the inputs they alias.
std::vector<double> losses_of(const Graph& graph, int steps) {
  const Device device = default_device();
  const std::unique_ptr<Executable> step = device->compile(graph);
  std::vector<BufferPtr> inputs = some_inputs(graph, *device);
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i) {
    const std::vector<BufferPtr> outputs = step->run(inputs);
    for (size_t o = 0; o < outputs.size(); ++o) {
      if (graph.aliases[o] >= 0) inputs[static_cast<size_t>(graph.aliases[o])] = outputs[o];
    }
    losses.push_back(item(from_buffer(outputs[0])));
  }
  return losses;
}

TEST(Parse, ReadsBackTrainingSteps) {
  for (const char* name : {"mlp", "resnet18", "resnet50", "vit_tiny_patch16_224",
                           "deit_tiny_distilled_patch16_224", "mixer_s16_224"}) {
    for (Precision precision : {Precision::kF32, Precision::kBF16Mixed}) {
      SCOPED_TRACE(fmt::format("{} {}", name, name_of(precision)));
      const std::string text = emit(step_of(name, 0.1, precision));
      const Graph graph = parse(text, "step.mlir");
      verify(graph, "parse");
      EXPECT_EQ(emit(graph), text);
    }
  }
}

TEST(Parse, TrainsToTheSameLosses) {
  for (const char* name : {"mlp", "resnet18", "vit_tiny_patch16_224"}) {
    SCOPED_TRACE(name);
    const Graph graph = step_of(name, 0.1, Precision::kF32, "sgd");
    const std::vector<double> expected = losses_of(graph, 3),
                              losses = losses_of(parse(emit(graph), "step.mlir"), 3);
    EXPECT_NE(expected[0], expected[2]);
    for (size_t i = 0; i < losses.size(); ++i)
      EXPECT_NEAR(losses[i], expected[i], 1e-5 * std::abs(expected[i])) << "step " << i;
  }
}

// @main of one argument f32[2,3] with this body.
std::string module_of(const std::string& body) {
  return "module {\n  func.func public @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {\n" + body +
         "\n  }\n}\n";
}

std::string error_of(const std::string& text) {
  try {
    parse(text, "a.mlir");
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Parse, ErrorsHavePlaceAndReason) {
  const std::string end = "\n    \"func.return\"(%x) : (tensor<2x3xf32>) -> ()";
  const std::pair<std::string, const char*> kCases[] = {
      {"    %y = \"stablehlo.add\"(%x, %z) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>",
       "[a.mlir:3:30] %z is not defined before its use"},
      {"    %y = \"stablehlo.add\"(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>",
       "[a.mlir:3:10] stablehlo.add: result 0 is f32[2,3], but its type says f32[2]"},
      {"    %y = \"stablehlo.frobnicate\"(%x) : (tensor<2x3xf32>) -> tensor<2xf32>",
       "[a.mlir:3:10] unsupported: stablehlo.frobnicate"},
      {"    %y = \"stablehlo.transpose\"(%x) {permutation = array<i64: 1, 1>} : (tensor<2x3xf32>) "
       "-> "
       "tensor<2x3xf32>",
       "[a.mlir:3:10] [transpose] [1,1] is no permutation of the dimensions of f32[2,3]"},
      {"    %y = \"stablehlo.transpose\"(%x) : (tensor<2x3xf32>) -> tensor<3x2xf32>",
       "[a.mlir:3:10] stablehlo.transpose: needs the attribute 'permutation'"},
      {"    %y = \"stablehlo.constant\"() {value = dense<[1, 2.5]> : tensor<2xi32>} : () -> "
       "tensor<2xi32>",
       "[a.mlir:3:52] '2.5' is out of the element type's range"},
      {"    %y = \"stablehlo.constant\"() {value = dense<\"0x00\"> : tensor<2xi32>} : () -> "
       "tensor<2xi32>",
       "[a.mlir:3:48] 1 byte(s) of data for i32[2]"},
      {"    %y = \"stablehlo.constant\"() {value = dense<1> : tensor<2xf16>} : () -> tensor<2xf16>",
       "[a.mlir:3:53] unsupported: type tensor<2xf16>"},
      {"    %y \"stablehlo.constant\"()", "[a.mlir:3:8] expected '=', found a string"},
  };
  for (const auto& [body, reason] : kCases)
    EXPECT_THAT(error_of(module_of(body + end)), HasSubstr(reason));
  EXPECT_THAT(error_of("module {"), HasSubstr("[a.mlir:1:9] expected 'func.func', found the end"));
  EXPECT_THAT(error_of("module {}"), HasSubstr("[a.mlir:1:10] there is no function @main"));
  EXPECT_THAT(error_of(module_of("")), HasSubstr("[a.mlir:2:3] a body without a return"));
}

Array run_one(const std::string& body, const std::vector<double>& x) {
  const Graph graph = parse(module_of(body), "a.mlir");
  Array input(graph.inputs[0].type());
  input.reals = x;
  return interpret(graph, {input})[0];
}

TEST(Parse, ConstantsInEveryForm) {
  const Array y = run_one(
      R"(    %a = "stablehlo.constant"() {value = dense<[[1.0, -2.5e0, 0x40000000], [3, 0.0, 1.0e2]]> : tensor<2x3xf32>} : () -> tensor<2x3xf32>
    %b = "stablehlo.constant"() <{value = dense<"0x0000803F"> : tensor<2x3xf32>}> : () -> tensor<2x3xf32>
    %c = "stablehlo.add"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> // 1 more
    "func.return"(%c) : (tensor<2x3xf32>) -> ())",
      std::vector<double>(6));
  EXPECT_THAT(y.reals, testing::ElementsAre(2, -1.5, 3, 4, 1, 101));
}

TEST(Parse, ReductionsFromOtherThanTheIdentity) {
  const std::string body = R"(
    %i = "stablehlo.constant"() {value = dense<10.0> : tensor<f32>} : () -> tensor<f32>
    %r = "stablehlo.reduce"(%x, %i) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
        "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
    %y = "stablehlo.broadcast_in_dim"(%r) {broadcast_dimensions = array<i64: 1>} : (tensor<3xf32>) -> tensor<2x3xf32>
    "func.return"(%y) : (tensor<2x3xf32>) -> ())";
  EXPECT_THAT(run_one(body, {1, 2, 3, 4, 5, 6}).reals,
              testing::ElementsAre(15, 17, 19, 15, 17, 19));
}

}  // namespace
}  // namespace centavo::stablehlo
