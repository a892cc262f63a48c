// Matrix products of Vision Transformers in the three directions of training: GFLOP/s and percent
// of the peak measured in the same run, beside oneDNN's matmul on the same data.
//
//   gemm_bench [--model tiny|small|base] [--batch N] [--threads N] [--precision bf16|f32]
//   [--onednn]
//
// Operands rotate through more memory than the last-level cache holds, as in a training step.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <dnnl.hpp>
#include <omp.h>
#include <string>
#include <vector>

#include "peak.h"

#include "centavo/backend/cpu/kernels/gemm.h"
#include "centavo/base/error.h"

namespace centavo::bench {
namespace {

struct Options {
  std::string model = "base", precision = "bf16";
  int batch = 16, threads = omp_get_max_threads();
  bool onednn = false;
};

// One product C[m,n] = A[m,k] B[k,n].
struct Case {
  std::string name;
  int64_t m, n, k;
  cpu::MatrixLayout a, b;
  DType c;
  cpu::Compute compute;
  bool packed = false;
  double flops() const { return 2.0 * double(m) * double(n) * double(k); }
};

// Y = X W^T, dX = dY W, dW = dY^T X of a layer `in` -> `out` with weights [out, in].
void add_layer(std::vector<Case>& cases, const std::string& name, int64_t tokens, int64_t in,
               int64_t out, bool bf16_products) {
  const DType act = bf16_products ? DType::kBF16 : DType::kF32, f32 = DType::kF32;
  const auto compute = bf16_products ? cpu::Compute::kBF16 : cpu::Compute::kF32;
  const cpu::MatrixLayout x{act, in, 1}, w_t{f32, 1, in}, dy{act, out, 1}, w{f32, in, 1},
      dy_t{act, 1, out};
  cases.push_back({name + " y", tokens, out, in, x, w_t, act, compute});
  cases.push_back({name + " y packed", tokens, out, in, x, w_t, act, compute, true});
  cases.push_back({name + " dx", tokens, in, out, dy, w, act, compute});
  cases.push_back({name + " dx packed", tokens, in, out, dy, w, act, compute, true});
  cases.push_back({name + " dw", out, in, tokens, dy_t, x, f32, compute});
}

std::vector<Case> cases_of(const Options& options) {
  const int64_t d = options.model == "tiny" ? 192 : options.model == "small" ? 384 : 768;
  const int64_t tokens = int64_t{197} * options.batch;
  const bool bf16_products = options.precision == "bf16";
  std::vector<Case> cases;
  add_layer(cases, "qkv", tokens, d, 3 * d, bf16_products);
  add_layer(cases, "proj", tokens, d, d, bf16_products);
  add_layer(cases, "fc1", tokens, d, 4 * d, bf16_products);
  add_layer(cases, "fc2", tokens, 4 * d, d, bf16_products);
  return cases;
}

// Small numbers of either type, of a simple repeating pattern.
std::vector<std::byte> filled(DType dtype, int64_t count) {
  std::vector<std::byte> bytes(static_cast<size_t>(count * size_of(dtype)));
  for (int64_t i = 0; i < count; ++i) {
    const float x = static_cast<float>(i * 7919 % 127 - 63) / 64;
    if (dtype == DType::kF32) {
      std::memcpy(bytes.data() + i * 4, &x, 4);
    } else {
      const bf16 h(x);
      std::memcpy(bytes.data() + i * 2, &h, 2);
    }
  }
  return bytes;
}

struct Data {
  std::vector<std::byte> a, b, c;
};

struct Seconds {
  double median, best;
};

// Seconds of `run(data)`, after a first call, over at least 7 calls and 0.25 s.
template <class Run>
Seconds seconds(std::vector<Data>& sets, Run run) {
  run(sets[0]);
  std::vector<double> times;
  double total = 0;
  for (size_t i = 0; times.size() < 7 || total < 0.25; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run(sets[i % sets.size()]);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    times.push_back(took.count()), total += took.count();
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[0]};
}

Seconds run_centavo(const Case& c, int threads, std::vector<Data>& sets) {
  const cpu::GemmSpec spec{
      .m = c.m, .n = c.n, .k = c.k, .a = c.a, .b = c.b, .compute = c.compute, .threads = threads};
  std::vector<std::byte> memory;
  cpu::PackedMatrix packed;
  if (c.packed) {
    memory.resize(static_cast<size_t>(cpu::packed_bytes(c.k, c.n, c.compute)) + 64);
    auto* aligned = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
    packed = cpu::pack_matrix(c.b, c.k, c.n, sets[0].b.data(), c.compute, aligned, threads);
  }
  return seconds(sets, [&](Data& data) {
    const cpu::GemmOutput out{data.c.data(), c.c, c.n};
    if (c.packed) {
      cpu::gemm(spec, data.a.data(), packed, out);
    } else {
      cpu::gemm(spec, data.a.data(), data.b.data(), out);
    }
  });
}

// oneDNN's matmul on operands as they lie, both of the type of the products.
Seconds run_onednn(const Case& c, std::vector<Data>& sets) {
  using dnnl::memory;
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const auto type = [](DType dtype) {
    return dtype == DType::kBF16 ? memory::data_type::bf16 : memory::data_type::f32;
  };
  const DType in = c.compute == cpu::Compute::kBF16 ? DType::kBF16 : DType::kF32;
  const memory::desc a({c.m, c.k}, type(in), memory::dims{c.a.row_stride, c.a.col_stride});
  const memory::desc b({c.k, c.n}, type(in), memory::dims{c.b.row_stride, c.b.col_stride});
  const memory::desc out({c.m, c.n}, type(c.c), memory::dims{c.n, 1});
  const dnnl::matmul matmul({{a, b, out}, engine});
  return seconds(sets, [&](Data& data) {
    matmul.execute(stream, {{DNNL_ARG_SRC, memory(a, engine, data.a.data())},
                            {DNNL_ARG_WEIGHTS, memory(b, engine, data.b.data())},
                            {DNNL_ARG_DST, memory(out, engine, data.c.data())}});
    stream.wait();
  });
}

void run(const Options& options) {
  omp_set_num_threads(options.threads);
  const auto compute = options.precision == "bf16" ? cpu::Compute::kBF16 : cpu::Compute::kF32;
  const double peak = peak_gflops(compute, options.threads);
  fmt::print("vit_{} batch {}, {}, {} threads, level {}: peak {:.1f} GFLOP/s\n", options.model,
             options.batch, options.precision, options.threads, name_of(cpu::cpu_level()), peak);
  double time = 0, best = 0, ideal = 0;
  for (const Case& c : cases_of(options)) {
    constexpr int64_t kMoreThanCache = int64_t{96} << 20;
    const int64_t bytes =
        c.m * c.k * size_of(c.a.dtype) + c.k * c.n * size_of(c.b.dtype) + c.m * c.n * size_of(c.c);
    std::vector<Data> sets(static_cast<size_t>(std::clamp<int64_t>(kMoreThanCache / bytes, 2, 64)));
    for (Data& data : sets) {
      data = {filled(c.a.dtype, c.m * c.k), filled(c.b.dtype, c.k * c.n), filled(c.c, c.m * c.n)};
    }
    const auto percent = [&](double t) { return 100 * c.flops() / t * 1e-9 / peak; };
    const Seconds t = run_centavo(c, options.threads, sets);
    fmt::print(
        "{:<16} {:>5} x {:>5} x {:>5} {:>9.3f} ms {:>7.1f} GFLOP/s {:>5.1f} % (best {:>5.1f} %)",
        c.name, c.m, c.n, c.k, t.median * 1e3, c.flops() / t.median * 1e-9, percent(t.median),
        percent(t.best));
    if (options.onednn && !c.packed) {
      const Seconds other = run_onednn(c, sets);
      fmt::print("   oneDNN {:>5.1f} % (best {:>5.1f} %)", percent(other.median),
                 percent(other.best));
    }
    fmt::print("\n");
    std::fflush(stdout);
    if (c.packed) continue;
    time += t.median, best += t.best, ideal += c.flops() / peak * 1e-9;
  }
  fmt::print("all unpacked: {:.1f} ms, {:.1f} % of peak (best {:.1f} %)\n", time * 1e3,
             100 * ideal / time, 100 * ideal / best);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--onednn") {
      options.onednn = true;
      continue;
    }
    if (i + 1 == argc) throw Error("gemm_bench", "{} needs a value", name);
    const std::string value = argv[++i];
    if (name == "--model") {
      options.model = value;
    } else if (name == "--batch") {
      options.batch = std::stoi(value);
    } else if (name == "--threads") {
      options.threads = std::stoi(value);
    } else if (name == "--precision") {
      options.precision = value;
    } else {
      throw Error("gemm_bench", "unknown option {}", name);
    }
  }
  return options;
}

}  // namespace
}  // namespace centavo::bench

int main(int argc, char** argv) {
  try {
    centavo::bench::run(centavo::bench::parse(argc, argv));
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
