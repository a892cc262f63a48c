// The CPU's executable: launches in schedule order over an arena.
#include "centavo/backend/cpu/executable.h"

#include <algorithm>
#include <fmt/ranges.h>

#include "centavo/backend/cpu/fuse.h"
#include "centavo/backend/cpu/host_buffer.h"
#include "centavo/backend/cpu/regular_dots.h"
#include "centavo/backend/cpu/tape/ops.h"
#include "centavo/backend/cpu/wide_convolutions.h"
#include "centavo/base/log.h"
#include "centavo/base/text.h"
#include "centavo/base/timer.h"
#include "centavo/ir/op.h"
#include "centavo/ops/movement.h"
#include "centavo/ops/registry.h"
#include "centavo/passes/passes.h"
#include "centavo/plan/plan.h"

namespace centavo::cpu {
namespace {

// A primitive without a kernel: its double-precision loop, with conversions around it.
Kernel fallback_kernel(const std::shared_ptr<Node>& node) {
  CENTAVO_CHECK(node->op->eval, "{} has no way to run", node->op->name);
  return [node](const KernelArgs& args) {
    std::vector<Array> inputs;
    for (size_t i = 0; i < node->inputs.size(); ++i)
      inputs.push_back(Array::from_bytes(node->inputs[i].type(), args.inputs[i]));
    std::vector<Array> outputs = node->op->eval(inputs, *node);
    for (size_t o = 0; o < outputs.size(); ++o) outputs[o].to_bytes(args.outputs[o]);
  };
}

Kernel copy_kernel(int64_t bytes) {
  return [bytes](const KernelArgs& args) {
    if (args.inputs[0] != args.outputs[0])
      std::memcpy(args.outputs[0], args.inputs[0], static_cast<size_t>(bytes));
  };
}

Kernel make_kernel(const std::shared_ptr<Node>& node, const KernelContext& context) {
  if (renames_memory(*node->op))
    return copy_kernel(node->types[0].bytes());  // in place unless returned
  if (KernelMaker maker = find_kernel(*node->op)) {
    if (Kernel kernel = maker(*node, context)) return kernel;
  }
  log_debug("no CPU kernel for {} {}", node->op->name, to_string(node->types[0]));
  return fallback_kernel(node);
}

class CpuExecutable : public Executable {
 public:
  CpuExecutable(Graph graph, const KernelContext& context, std::shared_ptr<Worker> worker)
      : graph_(std::move(graph)), worker_(std::move(worker)) {
    plan_ = plan_memory(graph_, may_overwrite);
    for (const auto& node : graph_.nodes) {
      if (node->op == &op_input) continue;
      launches_.push_back({make_kernel(node, context), {}, {}});
      profile_.push_back(profile_of(*node));
      for (const Tensor& input : node->inputs) launches_.back().inputs.push_back(place(input));
      for (size_t o = 0; o < node->types.size(); ++o)
        launches_.back().outputs.push_back(plan_.places[static_cast<size_t>(node->id)][o]);
    }
    for (auto [output, value] : plan_.copies) {
      launches_.push_back(
          {copy_kernel(value.type().bytes()), {place(value)}, {{Place::kOutput, output, 0}}});
      graph_.aliases[static_cast<size_t>(output)] = -1;
    }
    describe();
  }

  std::vector<BufferPtr> run(const std::vector<BufferPtr>& inputs) override {
    check_inputs(inputs);
    auto bound = std::make_shared<Binding>();
    for (const BufferPtr& input : inputs) {
      const auto& buffer = static_cast<const HostBuffer&>(*input);
      bound->inputs.push_back(buffer.storage());
      if (buffer.completion().valid()) bound->after.push_back(buffer.completion());
    }
    for (size_t o = 0; o < graph_.outputs.size(); ++o) {
      int alias = graph_.aliases[o];
      bound->outputs.push_back(alias >= 0
                                   ? bound->inputs[static_cast<size_t>(alias)]
                                   : std::make_shared<Storage>(graph_.outputs[o].type().bytes()));
    }
    // A completion lives as long as any output and would keep the job's memory, and through `after`
    // that of every earlier run: so the job gives up its binding when it ends.
    const std::vector<std::shared_ptr<Storage>> storages = bound->outputs;
    Completion done = worker_->submit([this, bound] {
      Binding mine = std::move(*bound);
      execute(mine);
    });
    std::vector<BufferPtr> outputs;
    for (size_t o = 0; o < graph_.outputs.size(); ++o) {
      outputs.push_back(std::make_shared<HostBuffer>(graph_.outputs[o].type(), storages[o], done));
    }
    return outputs;
  }

  const ExecutableInfo& info() const override { return info_; }
  void set_profiling(bool on) override {
    worker_->submit([this, on] { profiling_ = on; });
  }
  std::vector<KernelProfile> profile() const override {
    worker_->drain();
    return profile_;
  }
  ExecutableInfo& info() { return info_; }
  ~CpuExecutable() override { worker_->drain(); }

 private:
  struct Launch {
    Kernel kernel;
    std::vector<Place> inputs, outputs;
  };
  // The memory of one run, and the runs that must have succeeded before it.
  struct Binding {
    std::vector<std::shared_ptr<Storage>> inputs, outputs;
    std::vector<Completion> after;
  };

  const Place& place(const Tensor& t) const {
    return plan_.places[static_cast<size_t>(t.node()->id)][static_cast<size_t>(t.output())];
  }

  void check_inputs(const std::vector<BufferPtr>& inputs) const {
    CENTAVO_CHECK(inputs.size() == graph_.inputs.size(), "{} inputs, {} expected", inputs.size(),
                  graph_.inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      CENTAVO_CHECK(inputs[i]->type() == graph_.inputs[i].type(), "input {} is {}, not {}", i,
                    to_string(inputs[i]->type()), to_string(graph_.inputs[i].type()));
      if (!dynamic_cast<const HostBuffer*>(inputs[i].get()))
        throw Error("cpu", "input {} lives on another device; read it and upload it", i);
    }
  }

  void execute(Binding& bound) {
    for (const Completion& earlier : bound.after) earlier.get();
    std::byte* arena = worker_->arena(plan_.arena_bytes);
    auto address = [&](const Place& p) -> std::byte* {
      switch (p.kind) {
        case Place::kInput:
          return bound.inputs[static_cast<size_t>(p.index)]->data();
        case Place::kOutput:
          return bound.outputs[static_cast<size_t>(p.index)]->data();
        default:
          return arena + p.offset;
      }
    };
    const Timer timer;
    for (size_t i = 0; i < launches_.size(); ++i) {
      const Launch& launch = launches_[i];
      inputs_.clear();
      outputs_.clear();
      for (const Place& p : launch.inputs) inputs_.push_back(address(p));
      for (const Place& p : launch.outputs) outputs_.push_back(address(p));
      if (!profiling_) {
        launch.kernel({inputs_, outputs_});
        continue;
      }
      KernelProfile& profile = profile_[i];
      profile.start = timer.seconds();
      launch.kernel({inputs_, outputs_});
      profile.seconds += timer.seconds() - profile.start;
      ++profile.calls;
    }
  }

  static KernelProfile profile_of(const Node& node) {
    KernelProfile profile{std::string(node.op->name), node.scope, to_string(node.types[0])};
    if (node.op == &op_fusion) profile.op = describe_fusion(node);
    Cost cost = cost_of(node);
    profile.flops = cost.flops;
    profile.bytes = cost.bytes;
    return profile;
  }

  // "fusion loop: add, erf, multiply": each op of the body once, in order.
  static std::string describe_fusion(const Node& node) {
    std::vector<std::string_view> names;
    for (const auto& inner : node.attrs.graph("body").nodes) {
      if (inner->op == &op_input || inner->op == &op_constant) continue;
      if (std::find(names.begin(), names.end(), inner->op->name) == names.end())
        names.push_back(inner->op->name);
    }
    return fmt::format("fusion {}: {}", node.attrs.text("kind"), fmt::join(names, ", "));
  }

  void describe() {
    info_.kernels = static_cast<int64_t>(launches_.size());
    info_.temporary_bytes = plan_.arena_bytes;
    for (const Tensor& input : graph_.inputs) info_.argument_bytes += input.type().bytes();
    for (size_t o = 0; o < graph_.outputs.size(); ++o) {
      if (graph_.aliases[o] < 0) info_.output_bytes += graph_.outputs[o].type().bytes();
    }
  }

  Graph graph_;
  std::shared_ptr<Worker> worker_;
  MemoryPlan plan_;
  std::vector<Launch> launches_;
  std::vector<KernelProfile> profile_;  // parallel to launches_; written by the worker only
  bool profiling_ = false;              // the worker's
  ExecutableInfo info_;
  std::vector<const std::byte*> inputs_;  // scratch of execute(), which only the worker runs
  std::vector<std::byte*> outputs_;
};

}  // namespace

std::unique_ptr<Executable> compile_executable(const Graph& graph, const KernelContext& context,
                                               std::shared_ptr<Worker> worker) {
  Timer timer;
  PipelineOptions options;
  options.has_kernel = [&](const Node& node) {
    if (node.op->elementwise && runs_on_tape(node)) return true;
    KernelMaker maker = find_kernel(*node.op);
    const auto wide = wide_convolution(node, context.level);
    return maker && maker(wide ? *wide : node, context) != nullptr;
  };
  auto widen = [&](const Graph& g) { return wide_convolutions(g, context.level); };
  options.backend_passes = {
      {"wide_convolutions", widen}, {"regular_dots", regular_dots}, {"fuse", fuse}};
  auto executable =
      std::make_unique<CpuExecutable>(run_pipeline(graph, options), context, std::move(worker));
  const auto needed = executable->info().planned_bytes();
  if (needed > physical_memory()) {
    throw Error("memory", "a run needs {} and this machine has {}; use a smaller batch or model",
                human_bytes(static_cast<double>(needed)),
                human_bytes(static_cast<double>(physical_memory())));
  }
  executable->info().compile_seconds = timer.seconds();
  return executable;
}

}  // namespace centavo::cpu
