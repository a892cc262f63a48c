// Which convolutions run as kernels at each level of instructions.
#include <gtest/gtest.h>

#include "centavo/autodiff/grad.h"
#include "centavo/backend/cpu/executable.h"
#include "centavo/ops/ops.h"

namespace centavo::cpu {
namespace {

int64_t kernels_of_depthwise_gradient(DType dtype, CpuLevel level) {
  constexpr int64_t kChannels = 64;
  Tensor x = make_input({dtype, {2, 8, 8, kChannels}}),
         weight = make_input({dtype, {kChannels, 1, 3, 3}});
  Tensor loss = sum(conv2d(x, weight, conv_options(2, 1, kChannels)));
  const Graph graph = build_graph({x, weight}, grad(loss, {x, weight}));
  return compile_executable(graph, {.threads = 1, .level = level}, std::make_shared<Worker>())
      ->info()
      .kernels;
}

// A channel's own convolution each would be thousands of launches in a network.
TEST(Convolution, DepthwiseGradientsAreKernelsInBothPrecisionsAtEveryLevel) {
  const CpuLevel supported = supported_cpu_level();
  for (CpuLevel level : {CpuLevel::kBaseline, CpuLevel::kAvx2, CpuLevel::kAvx512}) {
    if (level > supported) continue;
    for (DType dtype : {DType::kF32, DType::kBF16})
      EXPECT_LT(kernels_of_depthwise_gradient(dtype, level), 10)
          << name_of(dtype) << " " << name_of(level);
  }
}

}  // namespace
}  // namespace centavo::cpu
