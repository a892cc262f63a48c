// Which nodes of a graph share a loop.
#pragma once

#include <optional>
#include <vector>

#include "centavo/backend/cpu/tape/access.h"
#include "centavo/backend/cpu/tape/tape.h"
#include "centavo/ir/graph.h"

namespace centavo::cpu {

// How many values a member has: one for each element of the loop, one for each row of it, or sums
// that are complete only when the loop is.
enum class Level : uint8_t { kFull, kRow, kEnd };

struct Group {
  Loop loop;
  std::vector<int> members;  // node ids, in order
  int dot = -1;              // the matrix product that the loop takes the tiles of
  int64_t columns = 0;       // of the product
};

// Loops read through these rather than have them in memory: splats, iotas, random numbers, and
// views along whose innermost dimension elements stay neighbours.
bool is_free(const Node& node);

// What is behind the views in front of a value, and how the value's elements are read there.
struct Source {
  Tensor value;
  Access access;
};
Source source_of(const Tensor& t);

class Groups {
 public:
  explicit Groups(const Graph& graph);

  const std::vector<Group>& all() const { return groups_; }  // emptied ones included
  int of(int node) const { return group_[static_cast<size_t>(node)]; }
  Level level(int node) const { return level_[static_cast<size_t>(node)]; }

 private:
  void add(const Node& node);
  void add_dot(const Node& node);
  void add_elementwise(const Node& node);
  void add_reduction(const Node& node);
  void join_siblings();
  int new_group(const Node& node, Loop loop, Level level);
  // Puts b's members into a if the two can be one loop.
  bool merge(int a, int b);
  bool legal(int a, int b, const Loop& loop) const;
  bool fits_dot(const Group& group, int64_t columns) const;
  bool link_fits(const Source& source, Level to, const Loop& loop) const;
  bool has_path_around(int a, int b) const;

  const Graph& graph_;
  std::vector<std::vector<int>> users_;
  std::vector<Group> groups_;
  std::vector<int> group_;  // by node; -1: none
  std::vector<Level> level_;
  mutable std::vector<int> visited_;  // by node: the last search that met it
  mutable int search_ = 0;
};

}  // namespace centavo::cpu
