// Groups -> fusion nodes: what each loop takes in, gives out and computes again.
#include "centavo/backend/cpu/fuse.h"

#include <algorithm>
#include <queue>

#include "centavo/backend/cpu/fuse_groups.h"
#include "centavo/backend/cpu/kernel.h"
#include "centavo/backend/cpu/tape/ops.h"
#include "centavo/ops/registry.h"

namespace centavo::cpu {
namespace {

int64_t elements(const Tensor& t) {
  return t.shape().elements();
}

bool is_cheap(const Op* op) {
  constexpr const Op* kCheap[] = {&op_abs,      &op_add,   &op_and,     &op_ceil,    &op_compare,
                                  &op_convert,  &op_floor, &op_maximum, &op_minimum, &op_multiply,
                                  &op_negate,   &op_not,   &op_or,      &op_select,  &op_sign,
                                  &op_subtract, &op_xor};
  return std::find(std::begin(kCheap), std::end(kCheap), op) != std::end(kCheap);
}

// A fusion in the making: the body's values, and the graph's values that they come from.
struct Recipe {
  std::vector<Tensor> arguments;  // of the graph
  std::vector<Tensor> inputs;     // of the body, one for each argument
  std::vector<Tensor> results;    // of the graph
  std::vector<Tensor> outputs;    // of the body, one for each result
  Loop loop;
  bool reduces = false, multiplies = false;

  const char* kind() const { return multiplies ? "dot" : reduces ? "reduce" : "loop"; }
};

class Fuser {
 public:
  explicit Fuser(const Graph& graph)
      : graph_(graph),
        groups_(graph),
        users_(users_of(graph)),
        needed_(graph.nodes.size(), false),
        returned_(graph.nodes.size(), false),
        recipe_of_(graph.nodes.size(), -1) {
    for (const Tensor& output : graph.outputs) {
      needed_[id(output)] = true;
      returned_[id(output)] = true;
    }
  }

  Graph run() {
    const std::vector<int> order = unit_order();
    // Backwards, so that a loop knows which of its values others need.
    for (size_t i = order.size(); i-- > 0;) decide(order[i]);
    return rebuild(order);
  }

 private:
  static size_t id(const Tensor& t) { return static_cast<size_t>(t.node()->id); }
  const Node& node(int i) const { return *graph_.nodes[static_cast<size_t>(i)]; }
  // The node that stands for all of a group.
  int unit_of(int i) const {
    const int group = groups_.of(i);
    return group < 0 ? i : groups_.all()[static_cast<size_t>(group)].members.front();
  }

  // Whether `user` has to wait for node i: not inside a group, also not for views of its members.
  bool waits(int user, int i) const {
    const int group = groups_.of(user);
    if (group < 0 || !is_free(node(i))) return unit_of(user) != unit_of(i);
    const Source source = source_of(Tensor(graph_.nodes[static_cast<size_t>(i)], 0));
    return groups_.of(source.value.node()->id) != group;
  }
  // Groups and single nodes, each after those it depends on; a group by its first member.
  std::vector<int> unit_order() const {
    const size_t count = graph_.nodes.size();
    std::vector<int> waiting(count, 0), order;
    for (size_t i = 0; i < count; ++i) {
      for (int user : users_[i])
        waiting[static_cast<size_t>(unit_of(user))] += waits(user, static_cast<int>(i));
    }
    std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
    for (size_t i = 0; i < count; ++i) {
      if (unit_of(static_cast<int>(i)) == static_cast<int>(i) && waiting[i] == 0)
        ready.push(static_cast<int>(i));
    }
    while (!ready.empty()) {
      const int unit = ready.top();
      ready.pop();
      order.push_back(unit);
      for (int member : members_of(unit)) {
        for (int user : users_[static_cast<size_t>(member)]) {
          const int next = unit_of(user);
          if (waits(user, member) && --waiting[static_cast<size_t>(next)] == 0) ready.push(next);
        }
      }
    }
    const auto units = std::count_if(graph_.nodes.begin(), graph_.nodes.end(),
                                     [&](const auto& n) { return unit_of(n->id) == n->id; });
    CENTAVO_CHECK(static_cast<int64_t>(order.size()) == units, "loops wait for each other");
    return order;
  }
  std::vector<int> members_of(int unit) const {
    const int group = groups_.of(unit);
    return group < 0 ? std::vector<int>{unit} : groups_.all()[static_cast<size_t>(group)].members;
  }

  // -- what becomes of a unit

  void decide(int unit) {
    const Node& first = node(unit);
    const int group = groups_.of(unit);
    if (group >= 0 && !is_plain_dot(unit)) {
      make_recipe(groups_.all()[static_cast<size_t>(group)].loop, members_of(unit), group);
    } else if (needed_[static_cast<size_t>(unit)] && is_free(first) && first.op != &op_reshape &&
               !find_kernel(*first.op)) {
      make_recipe({first.types[0].shape.elements(), 0}, {unit}, kAlone);
    } else if (needed_[static_cast<size_t>(unit)]) {
      for (const Tensor& input : first.inputs) needed_[id(input)] = true;
    }
  }

  // A product of values as they are, with nothing after it.
  bool is_plain_dot(int unit) const {
    const Node& n = node(unit);
    return n.op == &op_dot_general && members_of(unit).size() == 1 && !is_folded(n.inputs[0]) &&
           !is_folded(n.inputs[1]);
  }

  static constexpr int kAlone = -2;  // in place of a group: a free node that must be in memory

  void make_recipe(const Loop& loop, const std::vector<int>& members, int group) {
    Recipe recipe;
    recipe.loop = loop;
    built_.clear();
    for (int member : members) {
      if (!needed_[static_cast<size_t>(member)]) continue;
      const Tensor result(graph_.nodes[static_cast<size_t>(member)], 0);
      recipe.results.push_back(result);
      recipe.outputs.push_back(group == kAlone ? compute(result, identity(result), group, recipe)
                                               : build_member(result, group, recipe));
      recipe_of_[static_cast<size_t>(member)] = static_cast<int>(recipes_.size());
    }
    if (recipe.results.empty()) return;
    for (const Tensor& argument : recipe.arguments) needed_[id(argument)] = true;
    recipes_.push_back(std::move(recipe));
  }

  // -- bodies

  static Access identity(const Tensor& t) { return Access::identity(elements(t)); }

  // The body's value for `t` as read by `access`: a member's, a copy of something cheap, or an
  // input.
  Tensor build(const Tensor& t, const Access& access, int group, Recipe& recipe) {
    if (group >= 0 && groups_.of(t.node()->id) == group) return build_member(t, group, recipe);
    if (!is_copied(t, access, recipe.loop)) return take_in(t, recipe);
    for (const Built& b : built_) {
      if (b.original.same_as(t) && b.access == access) return b.copy;
    }
    return remember(t, access, compute(t, access, group, recipe));
  }
  Tensor build_member(const Tensor& t, int group, Recipe& recipe) {
    for (const Built& b : built_) {
      if (b.original.same_as(t)) return b.copy;
    }
    recipe.reduces |= t.node()->op == &op_reduce;
    recipe.multiplies |= t.node()->op == &op_dot_general;
    // A reduction reads the loop's elements, everything else as many values as it makes.
    return remember(t, {}, compute(t, identity(t), group, recipe));
  }

  Tensor compute(const Tensor& t, const Access& access, int group, Recipe& recipe) {
    const Node& n = *t.node();
    std::vector<Tensor> inputs;
    for (const Tensor& input : n.inputs) {
      if (n.op == &op_dot_general) {
        inputs.push_back(build_factor(input, recipe));
        continue;
      }
      Access inner = access;
      if (n.op == &op_rng_bit_generator)
        inner = {};
      else if (n.op == &op_reduce && !is_view(n))
        inner = identity(input);
      else if (is_view(n))
        inner = *through_view(n, access);
      inputs.push_back(build(input, inner, group, recipe));
    }
    NameScope scope(n.scope);
    return record1(*n.op, std::move(inputs), n.attrs, n.loc);
  }

  // A product rounds its factors itself: of one that is rounded for it, the original.
  Tensor build_factor(const Tensor& t, Recipe& recipe) {
    const Node& n = *t.node();
    if (!is_folded(t)) return take_in(t, recipe);
    Tensor inner =
        n.op == &op_convert ? take_in(n.inputs[0], recipe) : build_factor(n.inputs[0], recipe);
    return record1(*n.op, {inner}, n.attrs, n.loc);
  }
  bool is_folded(const Tensor& t) const {
    const Node& n = *t.node();
    if (n.op == &op_reshape) return is_folded(n.inputs[0]);
    if (n.op != &op_convert || t.dtype() != DType::kBF16 || n.inputs[0].dtype() != DType::kF32)
      return false;
    return n.inputs[0].node()->op == &op_input || (users_[id(t)].size() == 1 && !returned_[id(t)]);
  }

  Tensor take_in(const Tensor& t, Recipe& recipe) {
    for (size_t i = 0; i < recipe.arguments.size(); ++i) {
      if (recipe.arguments[i].same_as(t)) return recipe.inputs[i];
    }
    recipe.arguments.push_back(t);
    recipe.inputs.push_back(make_input(t.type()));
    return recipe.inputs.back();
  }

  Tensor remember(const Tensor& t, const Access& access, const Tensor& copy) {
    built_.push_back({t, access, copy});
    return copy;
  }

  // Whether a loop computes an outsider again rather than read it.
  bool is_copied(const Tensor& t, const Access& access, const Loop& loop) const {
    const Node& n = *t.node();
    if (is_free(n)) return !is_view(n) || through_view(n, access).has_value();
    const bool may = groups_.of(n.id) >= 0 && n.op != &op_reduce && n.op != &op_dot_general &&
                     groups_.level(n.id) != Level::kEnd;
    if (!may) return false;
    if (access.is_constant()) return true;  // once for the whole loop
    if (!is_cheap(n.op)) return false;
    // Cheap, and what it reads is no more than what it makes; unless it is in memory anyway.
    int64_t bytes = 0;
    for (const Tensor& input : n.inputs) {
      const Source source = source_of(input);
      if (elements(source.value) > 1 && !is_free(*source.value.node()))
        bytes += source.value.type().bytes();
    }
    if (elements(t) * 16 <= loop.elements) return bytes <= 2 * t.type().bytes();
    return in_memory_anyway(t) ? bytes < t.type().bytes() : bytes <= t.type().bytes();
  }
  bool in_memory_anyway(const Tensor& t) const {
    const std::vector<int>& users = users_[id(t)];
    return returned_[id(t)] || std::any_of(users.begin(), users.end(),
                                           [&](int user) { return !runs_on_tape(node(user)); });
  }

  // -- the new graph

  Graph rebuild(const std::vector<int>& order) {
    std::vector<std::vector<Tensor>> replaced(graph_.nodes.size());
    auto map = [&](const Tensor& t) { return replaced[id(t)][static_cast<size_t>(t.output())]; };
    auto map_all = [&](const std::vector<Tensor>& tensors) {
      std::vector<Tensor> mapped;
      for (const Tensor& t : tensors) mapped.push_back(map(t));
      return mapped;
    };
    std::vector<Tensor> inputs;
    for (const Tensor& input : graph_.inputs) {
      inputs.push_back(make_input(input.type()));
      inputs.back().node()->scope = input.node()->scope;
      replaced[id(input)] = {inputs.back()};
    }
    for (int unit : order) {
      const Node& n = node(unit);
      if (n.op == &op_input) continue;
      int made = -1;
      for (int member : members_of(unit))
        made = std::max(made, recipe_of_[static_cast<size_t>(member)]);
      NameScope scope(n.scope);
      if (made >= 0) {
        const Recipe& recipe = recipes_[static_cast<size_t>(made)];
        std::vector<Tensor> values = record_fusion(recipe, map_all(recipe.arguments), n.loc);
        for (size_t i = 0; i < values.size(); ++i) replaced[id(recipe.results[i])] = {values[i]};
      } else if (needed_[static_cast<size_t>(unit)] &&
                 (groups_.of(unit) < 0 || is_plain_dot(unit))) {
        replaced[static_cast<size_t>(unit)] = record(*n.op, map_all(n.inputs), n.attrs, n.loc);
      }
    }
    Graph result = build_graph(inputs, map_all(graph_.outputs));
    result.aliases = graph_.aliases;
    return result;
  }

  static std::vector<Tensor> record_fusion(const Recipe& recipe, std::vector<Tensor> arguments,
                                           const Loc& loc) {
    Attrs attrs;
    attrs.set("kind", recipe.kind())
        .set("elements", recipe.loop.elements)
        .set("row_length", recipe.loop.row_length)
        .set("body", std::make_shared<const Graph>(build_graph(recipe.inputs, recipe.outputs)));
    return record(op_fusion, std::move(arguments), std::move(attrs), loc);
  }

  struct Built {
    Tensor original;
    Access access;
    Tensor copy;
  };

  const Graph& graph_;
  const Groups groups_;
  const std::vector<std::vector<int>> users_;
  std::vector<bool> needed_,
      returned_;                // by node: its value must be in memory; the graph returns it
  std::vector<int> recipe_of_;  // by node that a fusion gives out
  std::vector<Recipe> recipes_;
  std::vector<Built> built_;  // of the body in the making
};

}  // namespace

Graph fuse(const Graph& graph) {
  return Fuser(graph).run();
}

}  // namespace centavo::cpu
