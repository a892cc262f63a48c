// Lifetimes -> offsets: best fit over free ranges, in schedule order.
#include "centavo/plan/plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "centavo/ir/op.h"
#include "centavo/ops/movement.h"

namespace centavo {
namespace {

constexpr int64_t kAlign = 64;

int64_t aligned(int64_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

// Free ranges of an arena that grows at its end.
class Arena {
 public:
  int64_t allocate(int64_t bytes) {
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second >= bytes && (best == free_.end() || it->second < best->second)) best = it;
    }
    if (best == free_.end()) {
      // Extend the last range if it is free and touches the end.
      auto last = free_.empty() ? free_.end() : std::prev(free_.end());
      int64_t offset = size_;
      if (last != free_.end() && last->first + last->second == size_) {
        offset = last->first;
        free_.erase(last);
      }
      size_ = offset + bytes;
      return offset;
    }
    auto [offset, length] = *best;
    free_.erase(best);
    if (length > bytes) free_[offset + bytes] = length - bytes;
    return offset;
  }
  void release(int64_t offset, int64_t bytes) {
    auto [at, inserted] = free_.emplace(offset, bytes);
    CENTAVO_CHECK(inserted);
    if (auto next = std::next(at); next != free_.end() && offset + bytes == next->first) {
      at->second += next->second;
      free_.erase(next);
    }
    if (at != free_.begin()) {
      auto before = std::prev(at);
      if (before->first + before->second == at->first) {
        before->second += at->second;
        free_.erase(at);
      }
    }
  }
  int64_t size() const { return size_; }

 private:
  std::map<int64_t, int64_t> free_;  // offset -> bytes, never touching
  int64_t size_ = 0;
};

class Planner {
 public:
  Planner(const Graph& graph, const MayOverwrite& may_overwrite)
      : graph_(graph), may_overwrite_(may_overwrite) {
    plan_.places.resize(graph.nodes.size());
    last_use_.resize(graph.nodes.size());
    for (const Tensor& output : graph.outputs) returned_.insert(output.node().get());
    for (const auto& node : graph.nodes) {
      plan_.places[id(*node)].resize(node->types.size());
      last_use_[id(*node)].assign(node->types.size(), node->id);
      for (const Tensor& input : node->inputs) last_use(root(input)) = node->id;
    }
  }

  MemoryPlan run() {
    place_inputs();
    place_outputs();
    for (const auto& node : graph_.nodes) {
      if (node->op == &op_input) continue;
      if (is_view(*node)) {
        plan_.places[id(*node)][0] = place(node->inputs[0]);
      } else {
        place_results(*node);
      }
      release_dead(*node);
    }
    plan_.arena_bytes = arena_.size();
    return std::move(plan_);
  }

 private:
  static size_t id(const Node& node) { return static_cast<size_t>(node.id); }
  static size_t at(const Tensor& t) { return static_cast<size_t>(t.output()); }
  Place& place(const Tensor& t) { return plan_.places[id(*t.node())][at(t)]; }
  int& last_use(const Tensor& t) { return last_use_[id(*t.node())][at(t)]; }

  // A reshape or barrier is another name for its input's memory, unless the graph returns it.
  bool is_view(const Node& node) const {
    return renames_memory(*node.op) && !returned_.contains(&node);
  }
  // The value whose memory `t` names.
  Tensor root(Tensor t) const {
    while (is_view(*t.node())) t = t.node()->inputs[0];
    return t;
  }

  void place_inputs() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i)
      place(graph_.inputs[i]) = {Place::kInput, static_cast<int>(i), 0};
  }

  void place_outputs() {
    for (size_t o = 0; o < graph_.outputs.size(); ++o) {
      const Tensor& output = graph_.outputs[o];
      int alias = graph_.aliases[o];
      if (place(output).kind != Place::kNone || (alias >= 0 && !can_take_over(output, alias))) {
        plan_.copies.emplace_back(static_cast<int>(o), output);
        last_use(output) = static_cast<int>(graph_.nodes.size());
      } else if (alias >= 0) {
        place(output) = {Place::kInput, alias, 0};
      } else {
        place(output) = {Place::kOutput, static_cast<int>(o), 0};
      }
    }
  }

  // The writer must come after every other reader of the input, and be able to work in place if it
  // reads it.
  bool can_take_over(const Tensor& output, int alias) {
    const Tensor& input = graph_.inputs[static_cast<size_t>(alias)];
    const Node& writer = *output.node();
    if (returned_.contains(input.node().get()) || last_use(input) > writer.id) return false;
    for (size_t i = 0; i < writer.inputs.size(); ++i) {
      bool reads = root(writer.inputs[i]).same_as(input);
      if (reads && !may_overwrite_(writer, output.output(), static_cast<int>(i))) return false;
    }
    return true;
  }

  void place_results(const Node& node) {
    for (size_t o = 0; o < node.types.size(); ++o) {
      Place& mine = plan_.places[id(node)][o];
      if (mine.kind != Place::kNone || take_over_operand(node, static_cast<int>(o))) continue;
      mine = {Place::kArena, -1, arena_.allocate(size_in_arena(node.types[o]))};
    }
  }

  // In place: the output gets the memory of an operand that nobody reads afterwards.
  bool take_over_operand(const Node& node, int output) {
    const TensorType& type = node.types[static_cast<size_t>(output)];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      Tensor operand = root(node.inputs[i]);
      if (place(operand).kind != Place::kArena || last_use(operand) != node.id) continue;
      if (size_in_arena(operand.type()) != size_in_arena(type)) continue;
      if (!may_overwrite_(node, output, static_cast<int>(i))) continue;
      plan_.places[id(node)][static_cast<size_t>(output)] = place(operand);
      last_use(operand) = kPassedOn;
      return true;
    }
    return false;
  }

  void release_dead(const Node& node) {
    for (const Tensor& input : node.inputs) release_if_last(root(input), node.id);
    if (is_view(node)) return;
    for (size_t o = 0; o < node.types.size(); ++o)
      release_if_last(Tensor(graph_.nodes[id(node)], static_cast<int>(o)), node.id);
  }

  void release_if_last(const Tensor& t, int now) {
    if (last_use(t) != now || place(t).kind != Place::kArena) return;
    arena_.release(place(t).offset, size_in_arena(t.type()));
    last_use(t) = kPassedOn;
  }

  static int64_t size_in_arena(const TensorType& type) {
    return aligned(std::max<int64_t>(1, type.bytes()));
  }

  static constexpr int kPassedOn = -1;  // released, or owned by the value that was written over it

  const Graph& graph_;
  const MayOverwrite& may_overwrite_;
  MemoryPlan plan_;
  Arena arena_;
  std::set<const Node*> returned_;
  std::vector<std::vector<int>>
      last_use_;  // node id of the last reader; the node's own when there is none
};

}  // namespace

MemoryPlan plan_memory(const Graph& graph, const MayOverwrite& may_overwrite) {
  return Planner(graph, may_overwrite).run();
}

}  // namespace centavo
