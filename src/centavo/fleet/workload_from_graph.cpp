// Walks the nodes once for kernels and once for what lives from forward to backward.
#include "centavo/fleet/workload_from_graph.h"

#include <algorithm>
#include <map>
#include <set>

#include "centavo/base/error.h"
#include "centavo/ir/op.h"

namespace centavo::fleet {
namespace {

bool is(const Node& node, std::string_view name) {
  return node.op->name == name;
}
bool is_update(const Node& node) {
  return node.op->name.ends_with("_update");
}
bool is_source(const Node& node) {
  return is(node, "input") || is(node, "constant") || is(node, "iota");
}
// Other views of a value that is there already.
bool is_view(const Node& node) {
  return is(node, "reshape") || is(node, "broadcast_in_dim") || is(node, "stop_gradient");
}

double bytes_read(const Tensor& value) {
  const Node* node = value.node().get();
  if (is(*node, "constant") || is(*node, "iota")) return 0;
  // A broadcast is read from the smaller value.
  if (is(*node, "broadcast_in_dim")) return bytes_read(node->inputs[0]);
  if (is_view(*node)) return bytes_read(node->inputs[0]);
  return static_cast<double>(value.type().bytes());
}

double bytes_written(const Node& node) {
  double sum = 0;
  for (const TensorType& type : node.types) sum += static_cast<double>(type.bytes());
  return sum;
}

OpClass class_of(const Node& node) {
  static const std::map<std::string_view, OpClass> kClasses = {
      {"dot_general", OpClass::kMatmul},
      {"convolution", OpClass::kConvolution},
      {"convolution_input_grad", OpClass::kConvolution},
      {"convolution_weight_grad", OpClass::kConvolution},
      {"attention", OpClass::kAttention},
      {"attention_grad", OpClass::kAttention},
      {"gather", OpClass::kEmbedding},
      {"scatter", OpClass::kEmbedding},
      {"layer_norm", OpClass::kNormalization},
      {"layer_norm_grad", OpClass::kNormalization},
      {"batch_norm", OpClass::kNormalization},
      {"batch_norm_grad", OpClass::kNormalization},
      {"softmax", OpClass::kNormalization},
      {"cross_entropy", OpClass::kNormalization},
      {"cross_entropy_grad", OpClass::kNormalization},
      {"reduce", OpClass::kNormalization},
      {"reduce_window", OpClass::kNormalization},
      {"select_and_scatter", OpClass::kNormalization},
  };
  if (is_update(node)) return OpClass::kOptimizer;
  auto found = kClasses.find(node.op->name);
  return found != kClasses.end() ? found->second : OpClass::kElementwise;
}

// What an eager framework moves over the least traffic that the op's cost rule counts: the
// gradients of a layer norm's scale and bias take a second pass over the values.
double passes(const Node& node) {
  return is(node, "layer_norm_grad") ? 5.0 / 3 : 1;
}

class Walker {
 public:
  Walker(const Graph& graph, const GraphFacts& facts) : g_(graph), users_(users_of(graph)) {
    step_.model = facts.model;
    step_.precision = facts.precision;
    step_.optimizer = facts.optimizer;
    step_.batch = facts.batch;
    step_.sample_elements = facts.sample_elements;
    auto loss = std::find_if(g_.nodes.begin(), g_.nodes.end(),
                             [](const auto& n) { return is(*n, "cross_entropy"); });
    if (loss == g_.nodes.end())
      throw Error("fleet", "the graph is no training step: it has no cross_entropy");
    loss_ = (*loss)->id;
  }

  Workload run() {
    find_gradients();
    find_kernels();
    for (const auto& node : g_.nodes) add_kernels(*node);
    std::stable_sort(step_.ops.begin(), step_.ops.end(),
                     [](const OpCost& a, const OpCost& b) { return a.phase < b.phase; });
    for (const OpCost& op : step_.ops)
      step_.recompute_flops += op.phase == Phase::kForward ? op.flops : 0;
    add_memory();
    return std::move(step_);
  }

 private:
  Phase phase_of(const Node& node) const {
    if (is_update(node)) return Phase::kOptimizer;
    return node.id <= loss_ ? Phase::kForward : Phase::kBackward;
  }

  // The gradient each update consumes is complete when the node that computes it has run.
  void find_gradients() {
    for (const auto& node : g_.nodes) {
      if (!is_update(*node)) continue;
      const TensorType& parameter = node->inputs[0].type();
      const Tensor* gradient = &node->inputs[1];
      while (is_view(*gradient->node()) || is(*gradient->node(), "convert"))
        gradient = &gradient->node()->inputs[0];
      const double bytes = static_cast<double>(parameter.bytes());
      step_.parameters += static_cast<double>(parameter.shape.elements());
      step_.gradient_bytes += bytes;
      complete_[gradient->node()->id] += bytes;
    }
  }

  // An elementwise op joins its users' kernel if they are all elementwise and in one kernel
  // already: nothing is written in between. kernel_[id] is the last node of the kernel that node
  // `id` is part of.
  void find_kernels() {
    kernel_.resize(g_.nodes.size());
    for (size_t i = g_.nodes.size(); i-- > 0;) {
      const Node& node = *g_.nodes[i];
      kernel_[i] = static_cast<int>(i);
      if (!node.op->elementwise || users_[i].empty()) continue;
      const int kernel = kernel_[static_cast<size_t>(users_[i].front())];
      const bool joins = std::all_of(users_[i].begin(), users_[i].end(), [&](int id) {
        const Node& user = *g_.nodes[static_cast<size_t>(id)];
        return user.op->elementwise && phase_of(user) == phase_of(node) &&
               user.types[0].shape == node.types[0].shape &&
               kernel_[static_cast<size_t>(id)] == kernel;
      });
      if (joins) kernel_[i] = kernel;
    }
    for (const auto& node : g_.nodes)
      for (const Tensor& input : node->inputs)
        if (kernel_of(*input.node()) != kernel_of(*node))
          reads_[kernel_of(*node)].insert({input.node()->id, input.output()});
  }

  int kernel_of(const Node& node) const { return kernel_[static_cast<size_t>(node.id)]; }

  // Matrix libraries read operands in either order: a transpose that only products read is none.
  bool is_operand_order(const Node& node) const {
    const std::vector<int>& users = users_[static_cast<size_t>(node.id)];
    return is(node, "transpose") && std::all_of(users.begin(), users.end(), [&](int id) {
             return is(*g_.nodes[static_cast<size_t>(id)], "dot_general");
           });
  }

  // Matrix libraries add a bias, a broadcast vector, while they write the product.
  static bool is_bias(const Node& node) {
    if (!is(node, "add")) return false;
    for (size_t i : {0, 1}) {
      const Node& other = *node.inputs[1 - i].node();
      if (is(*node.inputs[i].node(), "broadcast_in_dim") &&
          node.inputs[i].node()->inputs[0].rank() == 1 &&
          (is(other, "dot_general") || is(other, "convolution")))
        return true;
    }
    return false;
  }

  // The kernel's last node writes; every value from outside is read once.
  double kernel_bytes(const Node& last) const {
    double bytes = bytes_written(last);
    for (const auto& [id, output] : reads_.at(last.id))
      bytes += bytes_read({g_.nodes[static_cast<size_t>(id)], output});
    return bytes;
  }

  void add_kernels(const Node& node) {
    if (is_source(node) || is_view(node) || is_operand_order(node) || is_bias(node) ||
        kernel_of(node) != node.id) {
      if (complete_.contains(node.id) && !step_.ops.empty())
        step_.ops.back().gradient_bytes += complete_[node.id];
      return;
    }
    OpCost op;
    op.op_class = class_of(node);
    op.phase = phase_of(node);
    op.flops = cost_of(node).flops;
    op.bytes = passes(node) *
               (op.op_class == OpClass::kElementwise ? kernel_bytes(node) : cost_of(node).bytes);
    if (op.op_class == OpClass::kMatmul) set_product_shape(node, op);
    if (op.op_class == OpClass::kConvolution) set_convolution_shape(node, op);
    if (op.op_class == OpClass::kAttention)
      add_attention(node, op);
    else
      step_.ops.push_back(op);
    if (complete_.contains(node.id)) step_.ops.back().gradient_bytes += complete_[node.id];
  }

  static int64_t extent(const Shape& shape, const std::vector<int64_t>& dims) {
    int64_t product = 1;
    for (int64_t d : dims) product *= shape[static_cast<int>(d)];
    return product;
  }

  static void set_product_shape(const Node& node, OpCost& op) {
    const Shape &lhs = node.inputs[0].shape(), &rhs = node.inputs[1].shape();
    const int64_t batch = extent(lhs, node.attrs.ints("lhs_batch"));
    op.k = extent(lhs, node.attrs.ints("lhs_contract"));
    op.m = lhs.elements() / std::max<int64_t>(1, batch * op.k);
    op.n = rhs.elements() / std::max<int64_t>(1, batch * op.k);
  }

  static void set_convolution_shape(const Node& node, OpCost& op) {
    // Rows and columns of the product that a convolution is: output pixels by output channels, over
    // the window.
    const Shape& result = node.types[0].shape;
    const int64_t outputs = result.elements();
    // A weight's gradient is [O, I, KH, KW]; images are channels-last.
    op.n = result[is(node, "convolution_weight_grad") ? 0 : result.rank() - 1];
    op.m = outputs / std::max<int64_t>(1, op.n);
    op.k = static_cast<int64_t>(op.flops / 2 / std::max<double>(1, static_cast<double>(outputs)));
    // A filter for each channel runs beside the matrix unit.
    const int64_t groups = node.attrs.integer("groups");
    if (groups > 1 && groups == op.n) op.op_class = OpClass::kDepthwise;
  }

  // As StepBuilder::attention counts it: products and passes over the scores, `e` of them.
  void add_attention(const Node& node, const OpCost& whole) {
    const Shape& qkv = node.inputs[0].shape();
    const int64_t heads = node.attrs.integer("heads"), batch = qkv[0], tokens = qkv[1],
                  width = qkv[2] / 3 / heads;
    const double e = static_cast<double>(batch * heads * tokens * tokens);
    const double a = static_cast<double>(size_of(node.inputs[0].dtype()));
    const bool backward = is(node, "attention_grad");
    OpCost product;
    product.op_class = OpClass::kMatmul;
    product.phase = whole.phase;
    product.m = tokens, product.n = width, product.k = tokens;
    product.flops = 2 * e * static_cast<double>(width);
    product.bytes = a * (e + 2 * static_cast<double>(batch * heads * tokens * width));
    for (int i = 0; i < (backward ? 4 : 2); ++i) step_.ops.push_back(product);
    OpCost scores;
    scores.op_class = OpClass::kNormalization;
    scores.phase = whole.phase;
    scores.bytes = (backward ? 3 : 2) * a * e;  // softmax
    step_.ops.push_back(scores);
    scores.op_class = OpClass::kElementwise;
    scores.bytes = 2 * a * e;  // scaling
    step_.ops.push_back(scores);
  }

  static std::string block_of(const Node& node) {
    const size_t first = node.scope.find('.'), second = node.scope.find('.', first + 1);
    return first == std::string::npos ? "" : node.scope.substr(0, second);
  }

  void add_memory() {
    double states = 0;
    for (const auto& node : g_.nodes)
      if (is_update(*node))
        for (const TensorType& type : node->types) states += static_cast<double>(type.bytes());
    step_.state_bytes = states + step_.gradient_bytes;
    std::map<std::string, double> inside;  // kept bytes by block
    for (const auto& node : g_.nodes) {
      if (node->id > loss_ || is_source(*node) || is_view(*node)) continue;
      bool kept = false, leaves = false;
      for (const Node* user : users_through_views(*node)) {
        kept |= phase_of(*user) == Phase::kBackward;
        leaves |= phase_of(*user) == Phase::kForward && block_of(*user) != block_of(*node);
      }
      if (kept) {
        step_.activation_bytes += bytes_written(*node);
        inside[block_of(*node)] += bytes_written(*node);
      }
      if (leaves) step_.recompute_bytes += bytes_written(*node);
    }
    double largest = 0;
    for (const auto& [block, bytes] : inside) largest = std::max(largest, bytes);
    step_.recompute_bytes = std::min(step_.activation_bytes, step_.recompute_bytes + largest);
  }

  std::vector<const Node*> users_through_views(const Node& node) const {
    std::vector<const Node*> found;
    for (int id : users_[static_cast<size_t>(node.id)]) {
      const Node& user = *g_.nodes[static_cast<size_t>(id)];
      if (!is_view(user))
        found.push_back(&user);
      else
        for (const Node* next : users_through_views(user)) found.push_back(next);
    }
    return found;
  }

  const Graph& g_;
  std::vector<std::vector<int>> users_;
  int loss_ = 0;
  std::vector<int> kernel_;
  std::map<int, std::set<std::pair<int, int>>> reads_;  // (node, output) from outside, by kernel
  std::map<int, double> complete_;  // gradient bytes by the node that completes them
  Workload step_;
};

}  // namespace

Workload workload_from_graph(const Graph& graph, const GraphFacts& facts) {
  return Walker(graph, facts).run();
}

}  // namespace centavo::fleet
