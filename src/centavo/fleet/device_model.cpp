// Kernel times and their sums.
#include "centavo/fleet/device_model.h"

#include <algorithm>
#include <cmath>

#include "centavo/base/error.h"

namespace centavo::fleet {
namespace {

// One worker's part of a chip.
struct Rates {
  double matmul;     // FLOP/s in the workload's format
  double vector;     // FLOP/s in fp32
  double bandwidth;  // B/s
  int tile;          // granularity of a matrix product's rows and columns
};

double padded(int64_t extent, int tile) {
  if (extent <= 0) return 1;
  const double tiles = std::ceil(static_cast<double>(extent) / tile);
  return tiles * tile / static_cast<double>(extent);
}

Rates rates_of(const Workload& workload, const Chip& chip, const Parameters& parameters) {
  if (!chip.predictable())
    throw Error("fleet", "the catalogue has no peak rates for {}: no prediction", chip.name);
  const Precision& precision = precision_from_name(workload.precision);
  double peak = chip.peak(precision.matmul);
  // fp32 storage with products in bf16 still runs where bf16 is missing; a bf16 step does not.
  if (peak == 0 && precision.matmul == NumberFormat::kTf32) peak = chip.peak(NumberFormat::kFp32);
  if (peak == 0 && chip.kind == ChipKind::kCpu) peak = chip.peak(NumberFormat::kFp32);
  if (peak == 0)
    throw Error("fleet", "{} does not multiply in {}; train in another --precision", chip.name,
                kNumberFormats[static_cast<size_t>(precision.matmul)]);
  const double share = 1.0 / chip.workers;
  const int tile = chip.kind == ChipKind::kGpu ? 64 : chip.kind == ChipKind::kNeuron ? 128 : 16;
  return {share * peak * parameters.compute,
          share * chip.peak(NumberFormat::kFp32) * parameters.depthwise,
          share * chip.memory_bandwidth * parameters.memory, tile};
}

// Matrix units want channels last; with channels first every convolution transposes its operands
// and result, reading and writing each once more. Plain fp32 on a GPU has kernels for either.
bool transposes(const Chip& chip, Layout layout, const Precision& precision) {
  if (layout == Layout::kNhwc || chip.kind == ChipKind::kNeuron) return false;
  return chip.kind == ChipKind::kCpu || precision.matmul != NumberFormat::kFp32;
}

}  // namespace

double spill_factor(const Workload& workload, const Chip& chip, const Parameters& parameters) {
  if (chip.sram_bytes == 0) return 1;
  const double ratio = workload.working_set() / (chip.sram_bytes / chip.workers);
  return std::clamp(parameters.spill * ratio * std::min(1.0, ratio * ratio), 0.1, 3.0);
}

DeviceTimes device_times(const Workload& workload, const Chip& chip, const Stack& stack,
                         Layout layout, const Parameters& parameters) {
  const Rates rates = rates_of(workload, chip, parameters);
  const bool transposing = transposes(chip, layout, precision_from_name(workload.precision));
  const double spill = spill_factor(workload, chip, parameters);
  DeviceTimes times;
  for (const OpCost& op : workload.ops) {
    double compute = 0, memory = op.bytes / rates.bandwidth;
    switch (op.op_class) {
      case OpClass::kMatmul:
      case OpClass::kAttention:
        compute = op.flops * padded(op.m, rates.tile) * padded(op.n, rates.tile) / rates.matmul;
        break;
      case OpClass::kConvolution:
        compute = op.flops * padded(op.m, rates.tile) * padded(op.n, rates.tile) / rates.matmul;
        break;
      case OpClass::kDepthwise:
        compute = op.flops / rates.vector;
        break;
      case OpClass::kElementwise:
      case OpClass::kNormalization:
      case OpClass::kEmbedding:
        memory *= spill;
        break;
      case OpClass::kOptimizer:
        break;
    }
    double seconds = std::max(compute, memory);
    (compute >= memory ? times.compute_bound : times.memory_bound) += seconds;
    if (op.op_class == OpClass::kConvolution && transposing) {
      const double transposition = 2 * op.bytes / rates.bandwidth;
      times.memory_bound += transposition;
      seconds += transposition;
    }
    times.gaps += stack.kernel;
    seconds += stack.kernel;
    times.by_class[static_cast<size_t>(op.op_class)] += seconds;
    double& phase = op.phase == Phase::kForward    ? times.forward
                    : op.phase == Phase::kBackward ? times.backward
                                                   : times.optimizer;
    phase += seconds;
    if (op.gradient_bytes > 0) times.gradients.push_back({times.backward, op.gradient_bytes});
  }
  times.kernels = static_cast<int>(workload.ops.size());
  return times;
}

}  // namespace centavo::fleet
