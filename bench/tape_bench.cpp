// Fused loops over activations of ViT-B/16: time, and GB/s of the least memory traffic beside the
// bandwidth of a plain copy measured in the same run.
//
//   tape_bench [threads]
//
// Buffers rotate through more memory than the last-level cache holds, as in a training step.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <omp.h>
#include <vector>

#include "centavo/backend/cpu/fuse.h"
#include "centavo/backend/cpu/kernel.h"
#include "centavo/ops/ops.h"
#include "centavo/ops/registry.h"
#include "centavo/passes/passes.h"

namespace centavo::bench {
namespace {

constexpr int64_t kTokens = 3152, kWidth = 768, kHidden = 3072;

struct Seconds {
  double median, best;
};

// Of run(i), over at least 9 calls and 0.3 s, after one that is not counted.
Seconds seconds(const std::function<void(size_t)>& run) {
  run(0);
  std::vector<double> times;
  double total = 0;
  for (size_t i = 1; times.size() < 9 || total < 0.3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run(i);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    times.push_back(took.count()), total += took.count();
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[0]};
}

using Memory = std::unique_ptr<std::byte, decltype(&std::free)>;

Memory allocate(int64_t bytes) {
  const auto size = static_cast<size_t>((bytes + 63) / 64 * 64);
  Memory memory(static_cast<std::byte*>(std::aligned_alloc(64, size)), std::free);
  // bf16 and fp32 numbers near 1.
  std::memset(memory.get(), 0x3f, size);
  return memory;
}

void print(const char* name, int64_t bytes, const Seconds& t) {
  const double gigabytes = static_cast<double>(bytes) * 1e-9;
  fmt::print("{:<44} {:>8.3f} ms {:>7.1f} GB/s (best {:>8.3f} ms {:>6.1f} GB/s)\n", name,
             t.median * 1e3, gigabytes / t.median, t.best * 1e3, gigabytes / t.best);
  std::fflush(stdout);
}

size_t rotation(int64_t bytes) {
  constexpr int64_t kMoreThanCache = int64_t{128} << 20;
  return static_cast<size_t>(std::clamp<int64_t>(kMoreThanCache / bytes, 2, 16));
}

void bench_copy(int threads) {
  const int64_t bytes = kTokens * kHidden * 2;
  std::vector<Memory> from, to;
  for (size_t i = 0; i < rotation(2 * bytes); ++i)
    from.push_back(allocate(bytes)), to.push_back(allocate(bytes));
  print("memcpy", 2 * bytes, seconds([&](size_t i) {
#pragma omp parallel num_threads(threads)
          {
            const int64_t t = omp_get_thread_num(), n = omp_get_num_threads();
            const int64_t begin = bytes * t / n, end = bytes * (t + 1) / n;
            std::memcpy(to[i % to.size()].get() + begin, from[i % from.size()].get() + begin,
                        static_cast<size_t>(end - begin));
          }
        }));
}

// The one fusion that the graph becomes.
void bench_graph(const char* name, const std::vector<Tensor>& inputs,
                 const std::vector<Tensor>& outputs, int threads) {
  PipelineOptions options;
  options.has_kernel = [](const Node& node) { return node.op->elementwise; };
  options.backend_passes = {{"fuse", cpu::fuse}};
  const Graph graph = run_pipeline(build_graph(inputs, outputs), options);
  const Node& node = *graph.nodes.back();
  CENTAVO_CHECK(node.op == &op_fusion && graph.nodes.size() == inputs.size() + 1, "{}:\n{}", name,
                to_string(graph));
  const cpu::Kernel kernel = cpu::find_kernel(op_fusion)(node, {.threads = threads});
  int64_t bytes = 0;
  for (const Tensor& input : node.inputs) bytes += input.type().bytes();
  for (const TensorType& type : node.types) bytes += type.bytes();
  std::vector<std::vector<Memory>> memory(rotation(bytes));
  for (auto& set : memory) {
    for (const Tensor& input : node.inputs) set.push_back(allocate(input.type().bytes()));
    for (const TensorType& type : node.types) set.push_back(allocate(type.bytes()));
  }
  print(name, bytes, seconds([&](size_t i) {
          const auto& set = memory[i % memory.size()];
          const std::byte* in[16];
          std::byte* out[16];
          for (size_t k = 0; k < node.inputs.size(); ++k) in[k] = set[k].get();
          for (size_t k = 0; k < node.types.size(); ++k) out[k] = set[node.inputs.size() + k].get();
          kernel({{in, node.inputs.size()}, {out, node.types.size()}});
        }));
}

void bench_dtype(DType dtype, int threads) {
  auto name = [&](const char* what) { return fmt::format("{} {}", name_of(dtype), what); };
  auto bench = [&](const char* what, const std::vector<Tensor>& in,
                   const std::vector<Tensor>& out) {
    bench_graph(name(what).c_str(), in, out, threads);
  };
  Tensor x = make_input({dtype, {kTokens, kWidth}}), y = make_input({dtype, {kTokens, kWidth}});
  Tensor h = make_input({dtype, {kTokens, kHidden}}), dh = make_input({dtype, {kTokens, kHidden}});
  Tensor bias = make_input({DType::kF32, {kHidden}}), weight = make_input({DType::kF32, {kWidth}});
  auto f32 = [](const Tensor& t) { return convert(t, DType::kF32); };
  bench("add", {x, y}, {x + y});
  bench("bias, gelu", {h, bias}, {gelu(h + convert(bias, dtype))});
  bench("gelu", {h}, {gelu(h)});
  Tensor g = record1(op_gelu_grad, {h, dh});
  bench("gelu_grad", {h, dh}, {g});
  bench("gelu_grad and its column sums", {h, dh}, {g, sum(f32(g), {0})});
  bench("column sums", {h}, {sum(f32(h), {0})});
  bench("row sums", {h}, {sum(f32(h), {1})});
  Tensor centred = f32(x) - mean(f32(x), {1}, true);
  Tensor normal = centred * rsqrt(mean(centred * centred, {1}, true) + 1e-6);
  bench("layer norm", {x, weight}, {convert(normal * weight, dtype)});
  bench("softmax", {x}, {softmax(x)});
  Tensor key = make_input({DType::kU32, {2}});
  bench("dropout, residual", {x, y, key}, {dropout(x, key, 0.1, 1) + y});
  bench("to the other of f32 and bf16", {x},
        {convert(x, dtype == DType::kF32 ? DType::kBF16 : DType::kF32)});
}

}  // namespace
}  // namespace centavo::bench

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : omp_get_max_threads();
  fmt::print("{} threads, level {}\n", threads, name_of(centavo::cpu::cpu_level()));
  centavo::bench::bench_copy(threads);
  centavo::bench::bench_dtype(centavo::DType::kBF16, threads);
  centavo::bench::bench_dtype(centavo::DType::kF32, threads);
}
