// From a machine and a workload to a StepPlan, and from the simulated step to a Prediction.
#include "centavo/fleet/predictor.h"

#include <algorithm>
#include <cmath>

#include "centavo/base/error.h"
#include "centavo/base/text.h"

namespace centavo::fleet {
namespace {

// PyTorch's loader on normal random numbers, a 224 x 224 image being 150,528 of them: 1.6 ms of a
// loader worker, and 0.35 ms of the training process to receive it and cast it for the upload, 0.17
// where the device casts (PyTorch 1.13, one Zen 4 core, measured with bench/fleet/loader_cost.py).
// Tokens: slicing a memory map.
constexpr double kSyntheticElement = 10.6e-9;
constexpr double kFeedElement = 2.3e-9;
constexpr double kReceiveElement = 1.1e-9;
constexpr double kTokenSample = 20e-6;
constexpr double kDecodedElements = 3 * 224 * 224;
// Decoding times of single photographs vary about as much as their mean (their sizes do); a batch
// averages them.
constexpr double kDecodeVariation = 0.8;
// Host to device, per chip: what PCIe 3.0 x16 gives pageable memory.
constexpr double kCopyBandwidth = 8e9;
// What allocators, libraries and fragmentation leave of a device's memory.
constexpr double kUsableMemory = 0.92;
constexpr int kMaxLoaderWorkers = 16;

double sample_cpu(const Workload& workload, const Parameters& parameters) {
  switch (workload.input) {
    case InputKind::kSynthetic:
      return kSyntheticElement * workload.sample_elements;
    case InputKind::kTokens:
      return kTokenSample;
    case InputKind::kImages:
      // Half is decoding the stored photograph, half resizing and augmenting to the wanted size.
      return parameters.decode * (0.5 + 0.5 * workload.sample_elements / kDecodedElements);
  }
  CENTAVO_UNREACHABLE();
}

// Buckets fill in the order in which backward completes gradients; a bucket is ready with its last
// gradient.
std::vector<StepPlan::Bucket> make_buckets(const DeviceTimes& device, double bucket_bytes,
                                           const Topology& topology) {
  std::vector<StepPlan::Bucket> buckets;
  double bytes = 0;
  for (const DeviceTimes::Gradient& gradient : device.gradients) {
    bytes += gradient.bytes;
    if (bytes < bucket_bytes && &gradient != &device.gradients.back()) continue;
    buckets.push_back({gradient.ready, all_reduce_seconds(topology, bytes)});
    bytes = 0;
  }
  return buckets;
}

// Gradient accumulation: all batches but the last run forward and backward before the step's own,
// each adding its gradients (`sum` s) to the kept ones.
void accumulate(StepPlan& plan, int batches, double sum) {
  plan.forward += (batches - 1) * (plan.forward + plan.backward + sum);
  for (double StepPlan::*each :
       {&StepPlan::batch_cpu, &StepPlan::feed_cpu, &StepPlan::launch_cpu, &StepPlan::copy})
    plan.*each *= batches;
  plan.batch_variation /= std::sqrt(static_cast<double>(batches));
}

Bound bound_of(const SimulatedStep& parts, const DeviceTimes& device) {
  // Batches of an accumulated step share the device's split.
  const double scale = device.total() > 0 ? parts.compute / device.total() : 0;
  const std::pair<double, Bound> shares[] = {
      {scale * device.compute_bound, Bound::kCompute},
      {scale * device.memory_bound, Bound::kMemory},
      {scale * device.gaps + parts.launch + parts.copy, Bound::kLaunch},
      {parts.input, Bound::kInput},
      {parts.network, Bound::kNetwork}};
  return std::max_element(std::begin(shares), std::end(shares))->second;
}

}  // namespace

std::string_view name_of(Bound bound) {
  switch (bound) {
    case Bound::kCompute:
      return "compute";
    case Bound::kMemory:
      return "memory";
    case Bound::kLaunch:
      return "launch";
    case Bound::kInput:
      return "input";
    case Bound::kNetwork:
      return "network";
  }
  CENTAVO_UNREACHABLE();
}

Predictor Predictor::load() {
  return {Catalogue::load(), SoftwareTable::load(), Parameters::load(), ErrorBands::load()};
}

Predictor Predictor::load(const std::filesystem::path& dir) {
  return {Catalogue::load(dir), SoftwareTable::load(dir), Parameters::load(dir),
          ErrorBands::load(dir)};
}

Prediction Predictor::predict(const Instance& instance, const Workload& workload,
                              const RunSetup& setup) const {
  CENTAVO_CHECK(setup.instances >= 1 && setup.accumulate >= 1 && setup.steps_per_launch >= 1);
  Prediction result;
  result.warning = check_limits(catalogue_, instance, workload, setup);
  const int workers = setup.workers > 0 ? setup.workers : instance.workers();
  const Stack& stack = software_.for_chip(instance.chip.kind);
  result.device = device_times(workload, instance.chip, stack, setup.layout, parameters_);
  result.recompute = setup.recompute;
  result.memory_bytes = workload.state_bytes +
                        (setup.recompute ? workload.recompute_bytes : workload.activation_bytes);
  result.memory_available = kUsableMemory * instance.chip.memory_bytes / instance.chip.workers;
  if (result.memory_bytes > result.memory_available && !setup.has_run)
    throw Error(instance.name, "needs {} a worker, {} has {}; {}", human_bytes(result.memory_bytes),
                instance.chip.name, human_bytes(result.memory_available),
                setup.recompute ? "take a smaller batch" : "take a smaller batch or recomputation");

  StepPlan plan;
  plan.instances = setup.instances;
  plan.workers = workers;
  plan.cores = instance.cores;
  plan.vcpus = instance.vcpus;
  plan.loader_workers = setup.loader_workers > 0
                            ? setup.loader_workers
                            : std::clamp(instance.vcpus / instance.workers(), 1, kMaxLoaderWorkers);
  plan.prefetch = stack.prefetch;
  plan.batch_cpu = workload.batch * sample_cpu(workload, parameters_);
  if (workload.input != InputKind::kTokens)
    plan.feed_cpu = (instance.chip.kind == ChipKind::kGpu ? kReceiveElement : kFeedElement) *
                    workload.batch * workload.sample_elements;
  if (workload.input == InputKind::kImages)
    plan.batch_variation =
        std::min(1.0, kDecodeVariation / std::sqrt(static_cast<double>(workload.batch)));
  plan.launch_cpu =
      stack.traces ? parameters_.neuron_launch : stack.kernel_launch * result.device.kernels;
  plan.steps_per_launch = setup.steps_per_launch;
  plan.launch_overlaps = stack.launch_overlaps;
  if (!stack.launch_overlaps)
    plan.copy = 4 * workload.batch * workload.sample_elements / kCopyBandwidth;
  plan.forward = result.device.forward;
  plan.backward = result.device.backward + (setup.recompute ? result.device.forward : 0);
  plan.optimizer = result.device.optimizer;
  if (instance.chip.kind == ChipKind::kCpu) {  // loading takes cores from training
    plan.forward += (plan.batch_cpu + plan.feed_cpu) / instance.cores;
    plan.batch_cpu = plan.feed_cpu = 0;
  }
  if (workers * setup.instances > 1)
    plan.buckets = make_buckets(result.device, stack.bucket_bytes,
                                topology_of(catalogue_, instance, workers, setup.instances));
  plan.reduce_overlaps = stack.reduce_overlaps;
  if (setup.accumulate > 1) {
    const double bandwidth =
        instance.chip.memory_bandwidth / instance.chip.workers * parameters_.memory;
    accumulate(plan, setup.accumulate, 3 * workload.gradient_bytes / bandwidth);
  }

  result.parts = simulate(plan);
  result.seconds = result.parts.seconds;
  result.workers = workers * setup.instances;
  result.samples_per_second =
      static_cast<double>(result.workers) * workload.batch * setup.accumulate / result.seconds;
  result.bound = bound_of(result.parts, result.device);
  return result;
}

}  // namespace centavo::fleet
