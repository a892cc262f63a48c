// A tape as the sink of a matrix product: bias, activation, residual, conversion and column sums on
// tiles in cache.
#include "centavo/backend/cpu/kernels/fused_dot.h"

#include <algorithm>
#include <omp.h>

#include "centavo/backend/cpu/kernels/dot_general.h"
#include "centavo/backend/cpu/kernels/fusion.h"
#include "centavo/backend/cpu/kernels/scratch.h"
#include "centavo/backend/cpu/tape/collector.h"
#include "centavo/ops/registry.h"

namespace centavo::cpu {
namespace {

// A factor of the product as the fusion is given it: converts and reshapes in front are the
// product's own.
struct Factor {
  size_t input;
  DType dtype;
};
Factor factor_of(Tensor t) {
  while (t.node()->op != &op_input) t = t.node()->inputs[0];
  return {static_cast<size_t>(t.node()->id), t.dtype()};
}

const Node& dot_of(const Graph& body) {
  auto at = std::find_if(body.nodes.begin(), body.nodes.end(),
                         [](const auto& node) { return node->op == &op_dot_general; });
  CENTAVO_CHECK(at != body.nodes.end(), "a fused product has no dot_general");
  return **at;
}

Loop block_loop(const Node& fusion, int64_t columns) {
  Loop loop = loop_of(fusion);
  loop.columns = columns;
  return loop;
}

class FusedDot {
 public:
  FusedDot(const Node& fusion, const KernelContext& context)
      : FusedDot(fusion, dot_of(fusion.attrs.graph("body")), context) {}

  void run(const KernelArgs& args) const {
    const GemmSpec& spec = plan_.spec;
    // The calling thread keeps the memory of all.
    static thread_local Scratch scratch;
    const int64_t each = member_bytes();
    std::byte* memory = scratch.reserve(static_cast<size_t>(each * spec.threads));
    std::vector<Member> team;
    team.reserve(static_cast<size_t>(spec.threads));
    for (int t = 0; t < spec.threads; ++t) team.emplace_back(*this, args, memory + t * each);
    for (size_t i = 0; i < plan_.a_offsets.size(); ++i) {
      Sink sink{*this, team, plan_.c_offsets[i]};
      TileMemory memories[kMaxMemories];
      for (size_t m = 0; m < memories_.size(); ++m) memories[m] = memory_at(m, args, i);
      gemm(spec, args.inputs[a_.input] + plan_.a_offsets[i] * size_of(a_.dtype),
           args.inputs[b_.input] + plan_.b_offsets[i] * size_of(b_.dtype), take_tile, &sink,
           {memories, memories_.size()});
    }
    for (size_t r = 0; r < tape_.reductions.size(); ++r) {
      const Range all{0, tape_.reductions[r].size};
      for (Member& member : team) {
        if (&member != &team[0]) team[0].collectors[r].add(member.collectors[r], all);
      }
      team[0].collectors[r].write(args.outputs[static_cast<size_t>(tape_.reductions[r].output)],
                                  all);
    }
  }

 private:
  FusedDot(const Node& fusion, const Node& dot, const KernelContext& context)
      : plan_(*plan_dot(dot, context.threads)),
        a_(factor_of(dot.inputs[0])),
        b_(factor_of(dot.inputs[1])),
        tape_(compile_tape(fusion.attrs.graph("body"), block_loop(fusion, plan_.spec.n),
                           context.level)) {
    plan_.spec.a.dtype = a_.dtype;
    plan_.spec.b.dtype = b_.dtype;
    plan_.spec.level = context.level;
    find_tile_memory(fusion.attrs.graph("body"));
  }

  static constexpr size_t kMaxMemories = 4;

  // What one thread works with.
  struct Member {
    Member(const FusedDot& dot, const KernelArgs& args, std::byte* memory)
        : tape(dot.tape_, args.inputs, args.outputs, memory) {
      memory += TapeRun::scratch_bytes(dot.tape_);
      for (const Reduction& reduction : dot.tape_.reductions) {
        collectors.emplace_back(reduction, reduction.size, memory);
        collectors.back().begin(0);
        accumulators.push_back(collectors.back().accumulator());
        memory += Collector::bytes(reduction.size);
      }
      tape.set_accumulators(accumulators.data());
    }
    TapeRun tape;
    std::vector<Collector> collectors;  // by reduction
    std::vector<Accumulator> accumulators;
  };

  struct Sink {
    const FusedDot& dot;
    std::vector<Member>& team;
    int64_t offset;  // of the product in the result
  };

  static void take_tile(void* context, const GemmTile& tile) {
    const auto& [dot, team, offset] = *static_cast<const Sink*>(context);
    const GemmSpec& spec = dot.plan_.spec;
    Member& member = team[static_cast<size_t>(omp_get_thread_num())];
    const int64_t start = offset + (tile.batch * spec.m + tile.row) * spec.n + tile.col;
    member.tape.run_block(start, tile.rows, tile.cols, spec.n, tile.data, tile.ld);
    for (Collector& collector : member.collectors)
      collector.flush({tile.col, tile.col + tile.cols});
  }

  int64_t member_bytes() const {
    int64_t bytes = TapeRun::scratch_bytes(tape_);
    for (const Reduction& reduction : tape_.reductions) bytes += Collector::bytes(reduction.size);
    return bytes;
  }

  // Inputs and outputs that lie like the product: read and written at the tile's place.
  void find_tile_memory(const Graph& body) {
    auto add = [&](bool output, size_t index, const TensorType& type) {
      const bool like = type.shape.elements() == tape_.loop.elements;
      if (like && memories_.size() < kMaxMemories)
        memories_.push_back({output, index, size_of(type.dtype)});
    };
    for (size_t i = 0; i < body.inputs.size(); ++i) {
      if (i != a_.input && i != b_.input) add(false, i, body.inputs[i].type());
    }
    for (size_t o = 0; o < body.outputs.size(); ++o) add(true, o, body.outputs[o].type());
  }
  TileMemory memory_at(size_t m, const KernelArgs& args, size_t product) const {
    const Lying& lying = memories_[m];
    const std::byte* data = lying.output ? args.outputs[lying.index] : args.inputs[lying.index];
    const int64_t row = plan_.spec.n * lying.bytes;
    return {data + plan_.c_offsets[product] * lying.bytes, lying.bytes, row, plan_.spec.m * row};
  }

  struct Lying {
    bool output;
    size_t index;
    int64_t bytes;  // of an element
  };

  DotPlan plan_;
  Factor a_, b_;
  Tape tape_;
  std::vector<Lying> memories_;
};

}  // namespace

Kernel make_fused_dot(const Node& fusion, const KernelContext& context) {
  auto dot = std::make_shared<const FusedDot>(fusion, context);
  return [dot](const KernelArgs& args) { dot->run(args); };
}

}  // namespace centavo::cpu
