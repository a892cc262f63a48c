// Kernels that are bound by memory, beside a copy that moves as many bytes in the same run: GB/s of
// the least traffic (inputs read once, outputs written once), and as a share of the copy's. Both of
// the fastest call, since whatever else runs on the machine only slows calls down.
#include <benchmark/benchmark.h>
#include <cstring>
#include <map>

#include "centavo/backend/cpu/host_buffer.h"
#include "centavo/backend/cpu/kernel.h"
#include "centavo/base/philox.h"
#include "centavo/base/timer.h"
#include "centavo/ir/op.h"
#include "centavo/ops/registry.h"

namespace centavo::cpu {
namespace {

struct Setup {
  const Op* op;
  Case what;
  bool in_place = false;  // output i over input 0, 2, 3, ...
};

// Random numbers of an input, already in its dtype.
std::shared_ptr<Storage> draw(const CaseInput& input) {
  auto storage = std::make_shared<Storage>(input.type.bytes());
  Philox rng(1);
  const auto span = static_cast<float>(input.high - input.low);
  visit_dtype(input.type.dtype, [&](auto element) {
    using T = decltype(element);
    auto* to = reinterpret_cast<T*>(storage->data());
    for (int64_t i = 0; i < input.type.shape.elements(); ++i)
      to[i] = static_cast<T>(static_cast<float>(input.low) + span * rng.next_uniform());
  });
  return storage;
}

// Bytes per second of a copy that reads and writes `bytes` in total.
double copy_speed(int64_t bytes, int threads) {
  static std::map<std::pair<int64_t, int>, double> known;
  double& speed = known[{bytes, threads}];
  if (speed > 0) return speed;
  const int64_t part = (bytes / 2 / threads + 63) / 64 * 64;
  Storage from(part * threads), to(part * threads);
  std::memset(from.data(), 1, static_cast<size_t>(from.bytes()));
  double best = std::numeric_limits<double>::infinity();
  int calls = 0;
  for (const Timer total; ++calls <= 5 || total.seconds() < 0.1;) {
    const Timer timer;
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int t = 0; t < threads; ++t)
      std::memcpy(to.data() + t * part, from.data() + t * part, static_cast<size_t>(part));
    best = std::min(best, timer.seconds());
  }
  return speed = static_cast<double>(2 * part * threads) / best;
}

void run(benchmark::State& state, const Setup& setup, int threads) {
  std::vector<Tensor> inputs;
  for (const CaseInput& input : setup.what.inputs) inputs.push_back(make_input(input.type));
  const std::shared_ptr<Node> node = record(*setup.op, inputs, setup.what.attrs)[0].node();
  const KernelMaker maker = find_kernel(*setup.op);
  const Kernel kernel = maker ? maker(*node, {.threads = threads}) : Kernel();
  if (!kernel) return state.SkipWithError("no kernel");

  std::vector<std::shared_ptr<Storage>> memory;
  std::vector<const std::byte*> in;
  std::vector<std::byte*> out;
  int64_t bytes = 0;
  for (const CaseInput& input : setup.what.inputs) {
    memory.push_back(draw(input));
    in.push_back(memory.back()->data());
    bytes += input.type.bytes();
  }
  for (size_t o = 0; o < node->types.size(); ++o) {
    if (setup.in_place) {
      out.push_back(memory[o == 0 ? 0 : o + 1]->data());
    } else {
      memory.push_back(std::make_shared<Storage>(node->types[o].bytes()));
      out.push_back(memory.back()->data());
    }
    bytes += node->types[o].bytes();
  }
  if (setup.op == &op_slice) bytes = 2 * node->types[0].bytes();
  double best = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    const Timer timer;
    kernel({in, out});
    benchmark::ClobberMemory();
    best = std::min(best, timer.seconds());
  }
  const double speed = static_cast<double>(bytes) / best;
  state.counters["best_us"] = best * 1e6;
  state.counters["GB/s"] = speed * 1e-9;
  state.counters["of_copy"] = speed / copy_speed(bytes, threads);
}

using Ints = std::vector<int64_t>;
using Setups = std::vector<std::pair<std::string, Setup>>;

constexpr DType kFloat = DType::kF32, kHalf = DType::kBF16;

void add(Setups& list, const Op& op, std::vector<CaseInput> inputs, Attrs attrs = {},
         bool in_place = false) {
  std::string name(op.name);
  for (size_t i = 0; i < std::min<size_t>(2, inputs.size()); ++i)
    name += "/" + to_string(inputs[i].type);
  list.emplace_back(name, Setup{&op, {"", std::move(inputs), std::move(attrs)}, in_place});
}

CaseInput input(DType dtype, Shape shape, double low = -1, double high = 1) {
  return {{dtype, std::move(shape)}, low, high};
}

void add_layer_norm(Setups& list, DType d, int64_t rows, int64_t width) {
  const CaseInput x = input(d, {rows, width}), weight = input(kFloat, {width}),
                  mean = input(kFloat, {rows}), rstd = input(kFloat, {rows}, 1, 2);
  add(list, op_layer_norm, {x, weight, weight}, Attrs().set("eps", 1e-6));
  add(list, op_layer_norm_grad, {x, weight, mean, rstd, x});
}

void add_updates(Setups& list, DType parameter, DType gradient, int64_t n) {
  const CaseInput p = input(parameter, {n}), g = input(gradient, {n}),
                  v = input(parameter, {n}, 0.1, 1);
  const Attrs adam = Attrs()
                         .set("beta1", 0.9)
                         .set("beta2", 0.999)
                         .set("eps", 1e-8)
                         .set("weight_decay", 0.1)
                         .set("decoupled", true);
  const Attrs sgd = Attrs()
                        .set("momentum", 0.9)
                        .set("dampening", 0.0)
                        .set("weight_decay", 0.1)
                        .set("nesterov", false);
  add(list, op_adam_update, {p, g, p, v, input(kFloat, {3}, 0.01, 0.1)}, adam, true);
  add(list, op_sgd_update, {p, g, p, input(kFloat, {1}, 0.01, 0.1)}, sgd, true);
}

void add_softmax(Setups& list, DType d, int64_t rows, int64_t width) {
  const CaseInput x = input(d, {rows, width}, -4, 4), row = input(kFloat, {rows}),
                  labels = input(DType::kI32, {rows}, 0, static_cast<double>(width) - 1);
  const Attrs attrs = Attrs().set("label_smoothing", 0.1);
  add(list, op_cross_entropy, {x, labels}, attrs);
  add(list, op_cross_entropy_grad, {x, labels, row, row}, attrs);
  add(list, op_softmax, {x});
}

void add_movement(Setups& list, DType d) {
  auto permutation = [](Ints order) { return Attrs().set("permutation", std::move(order)); };
  add(list, op_transpose, {input(d, {3152, 768})}, permutation({1, 0}));
  add(list, op_transpose, {input(d, {4096, 4096})}, permutation({1, 0}));
  add(list, op_transpose, {input(d, {64, 197, 12, 64})}, permutation({0, 2, 1, 3}));
  add(list, op_transpose, {input(d, {64, 3, 224, 224})}, permutation({0, 2, 3, 1}));
  add(list, op_slice, {input(d, {64, 197, 768})},
      Attrs()
          .set("start", Ints{0, 1, 0})
          .set("limit", Ints{64, 197, 768})
          .set("strides", Ints{1, 1, 1}));
  auto padding = [](Ints low, Ints high) {
    Ints interior(low.size());
    return Attrs().set("value", 0.0).set("low", low).set("high", high).set("interior", interior);
  };
  add(list, op_pad, {input(d, {64, 1, 768})}, padding({0, 0, 0}, {0, 196, 0}));
  add(list, op_pad, {input(d, {64, 56, 56, 64})}, padding({0, 1, 1, 0}, {0, 1, 1, 0}));
  add(list, op_concatenate, {input(d, {64, 1, 768}), input(d, {64, 196, 768})},
      Attrs().set("axis", 1));
  auto broadcast = [](Ints dims) {
    return Attrs().set("shape", Ints{12608, 768}).set("dims", std::move(dims));
  };
  add(list, op_broadcast_in_dim, {input(d, {768})}, broadcast({1}));
  add(list, op_broadcast_in_dim, {input(d, {12608})}, broadcast({0}));
  add(list, op_convert, {input(d, {12608, 768})},
      Attrs().set("dtype", d == kFloat ? kHalf : kFloat));
}

Setups setups() {
  Setups list;
  for (DType d : {kHalf, kFloat}) {
    add_layer_norm(list, d, 64, 768);    // in cache
    add_layer_norm(list, d, 3152, 768);  // ViT-B/16 with 16 samples
    add_layer_norm(list, d, 12608, 768);
    add_layer_norm(list, d, 3152, 197);
    add_softmax(list, d, 256, 1000);
    add_softmax(list, d, 512, 50257);
    add_movement(list, d);
  }
  for (int64_t n : {768 * 3072, 8 * 768 * 3072}) {
    add_updates(list, kFloat, kHalf, n);
    add_updates(list, kFloat, kFloat, n);
    add_updates(list, kHalf, kHalf, n);
  }
  return list;
}

[[maybe_unused]] const int kRegistered = [] {
  for (const auto& [name, setup] : setups()) {
    for (int threads : {2, 1}) {
      benchmark::RegisterBenchmark(
          fmt::format("{}/threads:{}", name, threads).c_str(),
          [s = setup, threads](benchmark::State& state) { run(state, s, threads); })
          ->UseRealTime()
          ->Unit(benchmark::kMicrosecond);
    }
  }
  return 0;
}();

}  // namespace
}  // namespace centavo::cpu
