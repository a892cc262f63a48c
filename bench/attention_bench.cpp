// Attention's speed on the shapes of vision transformers and on longer sequences, in GFLOP/s of its
// products: two in forward, five in backward (S is made again).
#include <benchmark/benchmark.h>
#include <cmath>
#include <vector>

#include "centavo/backend/cpu/kernels/attention.h"
#include "centavo/base/philox.h"

namespace centavo::cpu {
namespace {

template <class T>
void run(benchmark::State& state, bool backward) {
  const int64_t batch = state.range(0), heads = state.range(1), tokens = state.range(2);
  const int64_t dim = state.range(3), width = heads * dim;
  const AttentionStrides qkv{tokens * 3 * width, 3 * width, dim}, out{tokens * width, width, dim};
  const AttentionSpec spec{.batch = batch,
                           .heads = heads,
                           .q_tokens = tokens,
                           .kv_tokens = tokens,
                           .head_dim = dim,
                           .scale = 1 / std::sqrt(static_cast<float>(dim)),
                           .causal = state.range(4) != 0,
                           .dtype = dtype_of<T>(),
                           .q = qkv,
                           .k = qkv,
                           .v = qkv,
                           .out = out,
                           .threads = static_cast<int>(state.range(5))};
  std::vector<T> x(batch * tokens * 3 * width), dx(x.size()), y(x.size() / 3), dy(y.size());
  std::vector<float> lse(batch * heads * tokens);
  Philox random(1);
  for (T& v : x) v = static_cast<T>(2 * random.next_uniform() - 1);
  for (T& v : dy) v = static_cast<T>(2 * random.next_uniform() - 1);
  const auto forward = [&] {
    attention_forward(spec, &x[0], &x[width], &x[2 * width], &y[0], lse.data());
  };
  forward();
  for (auto _ : state) {
    if (backward) {
      attention_backward(spec, &x[0], &x[width], &x[2 * width], &y[0], &dy[0], lse.data(), &dx[0],
                         &dx[width], &dx[2 * width]);
    } else {
      forward();
    }
    benchmark::ClobberMemory();
  }
  const auto seen = static_cast<double>(spec.causal ? tokens * (tokens + 1) / 2 : tokens * tokens);
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * (backward ? 5 : 2) * static_cast<double>(batch * width) * seen,
                         benchmark::Counter::kIsIterationInvariantRate);
}

void sizes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"batch", "heads", "tokens", "dim", "causal", "threads"});
  for (int threads : {2, 1}) {
    b->Args({16, 12, 197, 64, 0, threads});  // ViT-B/16
    b->Args({16, 3, 197, 64, 0, threads});   // ViT-Ti/16
  }
  b->Args({1, 3, 197, 64, 0, 2});
  b->Args({16, 12, 50, 64, 0, 2});  // ViT-B/32
  b->Args({2, 12, 1024, 64, 0, 2});
  b->Args({2, 12, 1024, 64, 1, 2});
  b->Args({2, 12, 1024, 128, 1, 2});
  b->UseRealTime()->Unit(benchmark::kMillisecond);
}

[[maybe_unused]] const int kRegistered = [] {
  const auto add = [](const char* name, auto* function, bool backward) {
    sizes(benchmark::RegisterBenchmark(
        name, [=](benchmark::State& state) { function(state, backward); }));
  };
  add("attention/bf16/forward", run<bf16>, false);
  add("attention/bf16/backward", run<bf16>, true);
  add("attention/f32/forward", run<float>, false);
  add("attention/f32/backward", run<float>, true);
  return 0;
}();

}  // namespace
}  // namespace centavo::cpu
