// Tensor: a value handle on one output of a recorded node. Copying it copies nothing; nothing has
// run yet when a tensor function returns.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "centavo/base/shape.h"
#include "centavo/ir/attrs.h"

namespace centavo {

struct Op;
struct Node;
class Buffer;  // a value on a device; backend/backend.h

class Tensor {
 public:
  Tensor() = default;  // undefined: stands for "none"
  Tensor(std::shared_ptr<Node> node, int output) : node_(std::move(node)), output_(output) {}

  bool defined() const { return node_ != nullptr; }
  const TensorType& type() const;
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  int rank() const { return shape().rank(); }
  // Extent of dimension i; negative i counts from the end.
  int64_t dim(int i) const { return shape()[i]; }

  const std::shared_ptr<Node>& node() const { return node_; }
  int output() const { return output_; }
  // Same node and output: the same value by construction.
  bool same_as(const Tensor& other) const {
    return node_ == other.node_ && output_ == other.output_;
  }

 private:
  std::shared_ptr<Node> node_;
  int output_ = 0;
};

// One recorded operation.
struct Node {
  const Op* op = nullptr;
  std::vector<Tensor> inputs;
  Attrs attrs;
  std::vector<TensorType> types;  // of the outputs
  std::string scope;              // layer that recorded it, e.g. "blocks.3.attn"
  Loc loc;
  uint64_t sequence = 0;  // program order; inputs come before their users
  int id = -1;            // position in the Graph that owns the node
  // Set once the outputs exist on a device (see runtime/eval.h); the inputs are then dropped.
  std::vector<std::shared_ptr<Buffer>> values;

  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node();  // frees long chains without deep recursion
};

// Records `op` and returns its outputs. Throws Error when the inputs break the op's rules.
std::vector<Tensor> record(const Op& op, std::vector<Tensor> inputs, Attrs attrs = {},
                           const Loc& loc = {});
// The same for an op with one output.
Tensor record1(const Op& op, std::vector<Tensor> inputs, Attrs attrs = {}, const Loc& loc = {});
// A value that is given when the graph runs.
Tensor make_input(const TensorType& type);

// Names the layer that the calling thread records into while the scope lives: nested scopes join
// with '.'.
class NameScope {
 public:
  explicit NameScope(std::string_view name);
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;
  static const std::string& current();

 private:
  size_t parent_size_;
};

}  // namespace centavo
