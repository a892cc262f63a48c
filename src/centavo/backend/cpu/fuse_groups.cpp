// Greedy, in program order: a node joins the loops that make its operands, then loops that read the
// same value are joined. Two groups become one only if no path leads from one to the other around
// them.
#include "centavo/backend/cpu/fuse_groups.h"

#include <algorithm>

#include "centavo/backend/cpu/kernels/dot_general.h"
#include "centavo/backend/cpu/tape/ops.h"
#include "centavo/ops/registry.h"

namespace centavo::cpu {
namespace {

// Rows that are kept whole in a tile, in elements.
constexpr int64_t kMaxRow = 4096;
// Column sums that each thread gathers beside a product.
constexpr int64_t kMaxColumns = 16384;
// Registers and streams of one loop are few.
constexpr size_t kMaxMembers = 96;

int64_t elements(const Tensor& t) {
  return t.shape().elements();
}

// The length of the rows that a reduction sums up; 0 when it does not go along rows.
int64_t row_length_of(const Node& reduce) {
  const int64_t n = elements(reduce.inputs[0]);
  const int64_t length = n / reduce.types[0].shape.elements();
  return reduces_rows(reduce, {n, length}) ? length : 0;
}

bool free_view(const Node& node) {
  return is_free(node) && is_view(node) && node.op != &op_iota;
}

bool rounds(const Node& node) {
  return node.op == &op_convert && is_floating(node.types[0].dtype) &&
         is_floating(node.inputs[0].dtype());
}

}  // namespace

bool is_free(const Node& node) {
  if (!runs_on_tape(node)) return false;
  if (node.op == &op_transpose) {
    const auto& permutation = node.attrs.ints("permutation");
    return permutation.empty() ||
           permutation.back() == static_cast<int64_t>(permutation.size()) - 1;
  }
  return is_splat(node) || is_view(node) || node.op == &op_rng_bit_generator;
}

Source source_of(const Tensor& t) {
  Source source{t, Access::identity(elements(t))};
  while (free_view(*source.value.node())) {
    std::optional<Access> inner = through_view(*source.value.node(), source.access);
    if (!inner) break;
    source = {source.value.node()->inputs[0], *inner};
  }
  return source;
}

Groups::Groups(const Graph& graph)
    : graph_(graph),
      users_(users_of(graph)),
      group_(graph.nodes.size(), -1),
      level_(graph.nodes.size(), Level::kFull),
      visited_(graph.nodes.size(), 0) {
  for (const auto& node : graph.nodes) {
    if (node->op == &op_dot_general)
      add_dot(*node);
    else if (runs_on_tape(*node) && !is_view(*node) && !is_free(*node))
      add(*node);
  }
  join_siblings();
}

int Groups::new_group(const Node& node, Loop loop, Level level) {
  groups_.push_back({loop, {node.id}});
  level_[static_cast<size_t>(node.id)] = level;
  return group_[static_cast<size_t>(node.id)] = static_cast<int>(groups_.size()) - 1;
}

void Groups::add(const Node& node) {
  if (node.op == &op_reduce)
    add_reduction(node);
  else
    add_elementwise(node);
}

void Groups::add_dot(const Node& node) {
  const int64_t n = node.types[0].shape.elements();
  std::optional<DotPlan> plan = n > 0 ? plan_dot(node, 1) : std::nullopt;
  if (!plan) return;
  Group& group = groups_[static_cast<size_t>(new_group(node, {n, 0}, Level::kFull))];
  group.dot = node.id;
  group.columns = plan->spec.n;
}

void Groups::add_reduction(const Node& node) {
  const Source source = source_of(node.inputs[0]);
  const int64_t n = elements(node.inputs[0]), row = row_length_of(node);
  const bool along_rows = row > 0 && row <= kMaxRow;
  const int maker = of(source.value.node()->id);
  const bool may_join = maker >= 0 && groups_[static_cast<size_t>(maker)].loop.elements == n &&
                        !(along_rows && groups_[static_cast<size_t>(maker)].dot >= 0);
  // Complete in each tile if rows allow it, else at the loop's end.
  if (along_rows) {
    const int own = new_group(node, {n, row}, Level::kRow);
    if (!may_join || merge(maker, own)) return;
    groups_.pop_back();
  }
  const int own = new_group(node, {n, 0}, Level::kEnd);
  if ((may_join && merge(maker, own)) || !along_rows) return;
  groups_.pop_back();
  new_group(node, {n, row}, Level::kRow);
}

void Groups::add_elementwise(const Node& node) {
  const int64_t n = node.types[0].shape.elements();
  std::vector<int> makers;
  for (const Tensor& input : node.inputs) {
    const Source source = source_of(input);
    const int source_id = source.value.node()->id, maker = of(source_id);
    if (maker < 0) continue;
    const Loop& loop = groups_[static_cast<size_t>(maker)].loop;
    if (level(source_id) == Level::kEnd) {
      // A sum may be rounded on its way out.
      const bool sole = users_[static_cast<size_t>(source_id)].size() == 1;
      if (!rounds(node) || !sole || !source.access.is_identity()) continue;
      groups_[static_cast<size_t>(maker)].members.push_back(node.id);
      group_[static_cast<size_t>(node.id)] = maker;
      level_[static_cast<size_t>(node.id)] = Level::kEnd;
      return;
    }
    if (level(source_id) == Level::kRow && loop.rows() == n && loop.elements != n) {
      // One value per row, like its operand.
      const int own = new_group(node, loop, Level::kRow);
      if (merge(maker, own)) return;
      groups_.pop_back();
    }
    if (loop.elements == n) makers.push_back(maker);
  }
  int own = new_group(node, {n, 0}, Level::kFull);
  // The latest first: a product's tiles rather than the value they are added to.
  std::sort(makers.begin(), makers.end(), [&](int a, int b) {
    return groups_[static_cast<size_t>(a)].members.back() >
           groups_[static_cast<size_t>(b)].members.back();
  });
  for (int maker : makers) {
    if (groups_[static_cast<size_t>(maker)].members.empty()) continue;  // merged meanwhile
    if (maker != own && merge(maker, own)) own = maker;
  }
}

bool Groups::merge(int a, int b) {
  Group &into = groups_[static_cast<size_t>(a)], &from = groups_[static_cast<size_t>(b)];
  if (into.loop.elements != from.loop.elements) return false;
  if (into.members.size() + from.members.size() > kMaxMembers) return false;
  Loop loop = into.loop;
  if (loop.row_length == 0) loop.row_length = from.loop.row_length;
  if (from.loop.row_length != 0 && from.loop.row_length != loop.row_length) return false;
  if (into.dot >= 0 && from.dot >= 0) return false;
  const int64_t columns = std::max(into.columns, from.columns);
  const bool has_dot = into.dot >= 0 || from.dot >= 0;
  if (has_dot && (loop.row_length != 0 || !fits_dot(into, columns) || !fits_dot(from, columns)))
    return false;
  if (!legal(a, b, loop) || has_path_around(a, b)) return false;
  into.loop = loop;
  into.dot = std::max(into.dot, from.dot);
  into.columns = columns;
  for (int id : from.members) group_[static_cast<size_t>(id)] = a;
  into.members.insert(into.members.end(), from.members.begin(), from.members.end());
  std::sort(into.members.begin(), into.members.end());
  from.members.clear();
  return true;
}

// Tiles of a product come in any order: only sums of its whole columns can be gathered from them.
bool Groups::fits_dot(const Group& group, int64_t columns) const {
  return std::all_of(group.members.begin(), group.members.end(), [&](int id) {
    const Node& node = *graph_.nodes[static_cast<size_t>(id)];
    if (node.op != &op_reduce) return true;
    const Access access = reduced_access(node.inputs[0].shape(), node.attrs.ints("dims"));
    const Access wanted{0, {{group.loop.elements / columns, 0}, {columns, 1}}};
    return columns <= kMaxColumns && access == wanted;
  });
}

// Whether a member at level `to` can read `source`, another member, while the loop runs.
bool Groups::link_fits(const Source& source, Level to, const Loop& loop) const {
  const Level from = level(source.value.node()->id);
  if (from == Level::kEnd) return to == Level::kEnd;
  if (from == Level::kFull) return source.access == Access::identity(loop.elements);
  if (to == Level::kRow) return source.access == Access::identity(loop.rows());
  std::optional<Access> rows = per_row(source.access, loop.row_length);
  return rows && *rows == Access::identity(loop.rows());
}

// Whether all that members of the two read from each other fits one loop.
bool Groups::legal(int a, int b, const Loop& loop) const {
  for (int group : {a, b}) {
    for (int id : groups_[static_cast<size_t>(group)].members) {
      const Node& node = *graph_.nodes[static_cast<size_t>(id)];
      const bool reduces = node.op == &op_reduce;
      for (const Tensor& input : node.inputs) {
        const Source source = source_of(input);
        const int maker = of(source.value.node()->id);
        if (maker != a && maker != b) continue;
        if (node.op == &op_dot_general) return false;
        if (!link_fits(source, reduces ? Level::kFull : level(id), loop)) return false;
      }
    }
  }
  return true;
}

// Whether a path leaves the two groups and comes back. Views in front of a member are its own.
bool Groups::has_path_around(int a, int b) const {
  ++search_;
  int last = 0;
  for (int group : {a, b})
    last = std::max(last, groups_[static_cast<size_t>(group)].members.back());
  auto inside = [&](int id) { return of(id) == a || of(id) == b; };
  std::vector<int> stack;
  auto visit = [&](int id) {
    int& mark = visited_[static_cast<size_t>(id)];
    const int first = of(id) < 0 ? id : groups_[static_cast<size_t>(of(id))].members.front();
    if (mark == search_ || first > last) return;
    mark = search_;
    stack.push_back(id);
  };
  // A search from each member: what is read right here, or through views only, is no way around.
  for (int group : {a, b}) {
    for (int id : groups_[static_cast<size_t>(group)].members) {
      std::vector<int> reached = users_[static_cast<size_t>(id)];
      for (size_t i = 0; i < reached.size(); ++i) {
        const int user = reached[i];
        if (inside(user)) continue;
        const Node& node = *graph_.nodes[static_cast<size_t>(user)];
        if (free_view(node) && of(user) < 0) {
          const auto& more = users_[static_cast<size_t>(user)];
          reached.insert(reached.end(), more.begin(), more.end());
        } else {
          visit(user);
        }
      }
    }
  }
  while (!stack.empty()) {
    const int id = stack.back();
    stack.pop_back();
    if (inside(id)) return true;
    // A group runs as a whole: whoever reaches one member reaches what all of them lead to.
    std::vector<int> ids = {id};
    if (of(id) >= 0) ids = groups_[static_cast<size_t>(of(id))].members;
    for (int member : ids) {
      for (int user : users_[static_cast<size_t>(member)]) visit(user);
    }
  }
  return false;
}

void Groups::join_siblings() {
  // By value: the groups that read it element by element.
  for (const auto& node : graph_.nodes) {
    if (is_free(*node)) continue;
    std::vector<int> readers = users_[static_cast<size_t>(node->id)];
    int first = -1;
    for (size_t i = 0; i < readers.size(); ++i) {
      const Node& reader = *graph_.nodes[static_cast<size_t>(readers[i])];
      if (reader.op == &op_reshape) {
        const auto& more = users_[static_cast<size_t>(reader.id)];
        readers.insert(readers.end(), more.begin(), more.end());
      }
      const int group = of(reader.id);
      if (group < 0 || group == first || groups_[static_cast<size_t>(group)].dot >= 0) continue;
      const int64_t n = groups_[static_cast<size_t>(group)].loop.elements;
      const bool whole = std::any_of(node->types.begin(), node->types.end(),
                                     [&](const auto& type) { return type.shape.elements() == n; });
      if (!whole) continue;
      if (first < 0)
        first = group;
      else
        merge(first, group);
    }
  }
}

}  // namespace centavo::cpu
