// Fused loops: tapes shared out among threads, and the reductions that they gather.
#include "centavo/backend/cpu/kernels/fusion.h"

#include <algorithm>
#include <omp.h>

#include "centavo/backend/cpu/kernel.h"
#include "centavo/backend/cpu/kernels/fused_dot.h"
#include "centavo/backend/cpu/kernels/scratch.h"
#include "centavo/backend/cpu/tape/collector.h"
#include "centavo/backend/cpu/tape/ops.h"
#include "centavo/ops/registry.h"

namespace centavo::cpu {
namespace {

// How a loop with reductions is cut: into blocks, each with results of its own, and perhaps each
// block into strips of columns.
struct Cut {
  int64_t blocks = 1;
  int64_t block = 0;  // elements of one
  // Not 0: a block is rows of this many columns, summed over rows; it is done strip by strip, so
  // that what is gathered stays in L1.
  int64_t columns = 0;

  int64_t strips(int64_t tile) const { return columns > 0 ? (columns + tile - 1) / tile : 1; }
};

Cut cut_of(const Tape& tape) {
  constexpr int64_t kWide = 4096;
  const int64_t n = tape.loop.elements, row = tape.loop.row_length;
  Cut cut{1, n};
  if (tape.reductions.empty()) return cut;
  auto own_block = [&](const Reduction& r) {
    const bool outermost_kept = !r.access.digits.empty() && r.access.digits[0].stride != 0;
    return outermost_kept ? n / r.access.digits[0].extent : n;
  };
  int64_t block = 0;
  for (const Reduction& r : tape.reductions) block = std::max(block, own_block(r));
  bool fits = row == 0 || block % row == 0;
  for (const Reduction& r : tape.reductions) fits = fits && block % own_block(r) == 0;
  if (fits) cut = {n / block, block};
  const Access& access = tape.reductions[0].access;
  if (row > 0 || access.digits.size() != (cut.blocks > 1 ? 3 : 2)) return cut;
  const Access::Digit inner = access.digits.back();
  const bool same = std::all_of(tape.reductions.begin(), tape.reductions.end(),
                                [&](const Reduction& r) { return r.access == access; });
  if (same && inner.stride == 1 && inner.extent >= kWide) cut.columns = inner.extent;
  return cut;
}

class FusedLoop {
 public:
  FusedLoop(Tape tape, int threads)
      : tape_(std::move(tape)), cut_(cut_of(tape_)), threads_(useful_threads(threads)) {
    for (const Reduction& r : tape_.reductions) {
      windows_.push_back(cut_.columns > 0 ? std::min(tape_.tile, cut_.columns)
                                          : r.size / cut_.blocks);
    }
    team_.resize(static_cast<size_t>(threads_));
  }

  void run(const KernelArgs& args) {
    if (threads_ == 1) return run_thread(args, 0, 1);
#pragma omp parallel num_threads(threads_)
    run_thread(args, omp_get_thread_num(), threads_);
  }

 private:
  struct Member {
    std::vector<Collector> collectors;  // by reduction
    std::vector<Accumulator> accumulators;
  };

  int useful_threads(int threads) const {
    // Instructions on elements that are done sooner than a team is woken.
    constexpr int64_t kWorthAThread = 60'000;
    const auto steps = static_cast<int64_t>(tape_.steps.size()) + 1;
    return static_cast<int>(
        std::clamp<int64_t>(tape_.loop.elements * steps / kWorthAThread, 1, threads));
  }

  void run_thread(const KernelArgs& args, int thread, int threads) {
    const int64_t registers = TapeRun::scratch_bytes(tape_);
    int64_t bytes = registers;
    for (int64_t window : windows_) bytes += Collector::bytes(window);
    static thread_local Scratch scratch;
    std::byte* memory = scratch.reserve(static_cast<size_t>(bytes));
    TapeRun tape_run(tape_, args.inputs, args.outputs, memory);
    if (tape_.reductions.empty()) {
      const Range mine = share(tape_.loop.elements, tape_.tile, thread, threads);
      return tape_run.run(mine.begin, mine.end);
    }
    Member& member = team_[static_cast<size_t>(thread)];
    member.collectors.clear();
    member.accumulators.resize(windows_.size());
    tape_run.set_accumulators(member.accumulators.data());
    memory += registers;
    for (size_t r = 0; r < windows_.size(); ++r) {
      member.collectors.emplace_back(tape_.reductions[r], windows_[r], memory);
      memory += Collector::bytes(windows_[r]);
    }
    if (cut_.columns > 0 || cut_.blocks >= threads)
      run_apart(args, tape_run, member, thread, threads);
    else
      run_together(args, tape_run, member, thread, threads);
  }

  // Each thread makes results of its own: those of blocks, or of strips of them.
  void run_apart(const KernelArgs& args, TapeRun& tape_run, Member& member, int thread,
                 int threads) {
    const int64_t strips = cut_.strips(tape_.tile);
    const Range mine = share(cut_.blocks * strips, 1, thread, threads);
    for (int64_t i = mine.begin; i < mine.end; ++i) {
      const int64_t block = i / strips, column = i % strips * tape_.tile;
      const int64_t start = block * cut_.block;
      begin(member, block, column);
      if (cut_.columns == 0) {
        gather(tape_run, member, {start, start + cut_.block});
      } else {
        const int64_t width = std::min(tape_.tile, cut_.columns - column);
        for (int64_t row = start + column; row < start + cut_.block; row += cut_.columns)
          gather(tape_run, member, {row, row + width});
      }
      for (size_t r = 0; r < windows_.size(); ++r) {
        const int64_t width =
            cut_.columns > 0 ? std::min(tape_.tile, cut_.columns - column) : windows_[r];
        member.collectors[r].flush();
        write(args, member, r, {0, width});
      }
    }
  }

  // All threads share each block's elements; what they have gathered is added up in the threads'
  // order.
  void run_together(const KernelArgs& args, TapeRun& tape_run, Member& member, int thread,
                    int threads) {
    for (int64_t block = 0; block < cut_.blocks; ++block) {
      begin(member, block, 0);
      const Range mine = share(cut_.block, tape_.tile, thread, threads);
      const int64_t start = block * cut_.block;
      gather(tape_run, member, {start + mine.begin, start + mine.end});
      for (Collector& collector : member.collectors) collector.flush();
#pragma omp barrier
      for (size_t r = 0; r < windows_.size(); ++r) {
        const Range part = share(windows_[r], 64, thread, threads);
        for (size_t other = 1; other < static_cast<size_t>(threads); ++other)
          team_[0].collectors[r].add(team_[other].collectors[r], part);
        write(args, team_[0], r, part);
      }
#pragma omp barrier
    }
  }

  void begin(Member& member, int64_t block, int64_t column) const {
    for (size_t r = 0; r < windows_.size(); ++r) {
      member.collectors[r].begin(block * (tape_.reductions[r].size / cut_.blocks) + column);
      member.accumulators[r] = member.collectors[r].accumulator();
    }
  }
  void gather(TapeRun& tape_run, Member& member, Range range) const {
    for (int64_t at = range.begin; at < range.end; at += tape_.tile) {
      const int64_t end = std::min(at + tape_.tile, range.end);
      tape_run.run(at, end);
      for (Collector& collector : member.collectors) collector.advance(end - at);
    }
  }
  void write(const KernelArgs& args, const Member& member, size_t r, Range range) const {
    const auto output = static_cast<size_t>(tape_.reductions[r].output);
    member.collectors[r].write(args.outputs[output], range);
  }

  const Tape tape_;
  const Cut cut_;
  const int threads_;
  std::vector<int64_t> windows_;  // by reduction: elements of its result gathered at once
  std::vector<Member> team_;
};

}  // namespace

Loop loop_of(const Node& fusion) {
  return {fusion.attrs.integer("elements"), fusion.attrs.integer("row_length")};
}

bool fusion_may_overwrite(const Node& fusion, size_t output, size_t input) {
  const Graph& body = fusion.attrs.graph("body");
  const Loop loop = loop_of(fusion);
  const TensorType &from = body.inputs[input].type(), &to = body.outputs[output].type();
  if (size_of(from.dtype) != size_of(to.dtype) || from.shape.elements() != loop.elements ||
      to.shape.elements() != loop.elements)
    return false;
  // Values that are read out of the loop's order, or whole.
  std::vector<bool> scattered(body.nodes.size(), false);
  for (size_t i = body.nodes.size(); i-- > 0;) {
    const Node& node = *body.nodes[i];
    const bool in_order = node.op == &op_reshape || node.op->elementwise || node.op == &op_reduce;
    const bool rows = node.op == &op_reduce && reduces_rows(node, loop);
    for (const Tensor& operand : node.inputs) {
      if (!in_order || (scattered[i] && !rows))
        scattered[static_cast<size_t>(operand.node()->id)] = true;
    }
  }
  return !scattered[static_cast<size_t>(body.inputs[input].node()->id)];
}

Kernel make_fusion(const Node& node, const KernelContext& context) {
  if (node.attrs.text("kind") == "dot") return make_fused_dot(node, context);
  auto loop = std::make_shared<FusedLoop>(
      compile_tape(node.attrs.graph("body"), loop_of(node), context.level), context.threads);
  return [loop](const KernelArgs& args) { loop->run(args); };
}

}  // namespace centavo::cpu
