// Products whose dimensions no strides describe get their operands transposed first.
#include "centavo/backend/cpu/regular_dots.h"

#include <algorithm>
#include <numeric>

#include "centavo/backend/cpu/kernels/dot_general.h"
#include "centavo/ops/linear.h"
#include "centavo/ops/movement.h"
#include "centavo/ops/registry.h"

namespace centavo::cpu {
namespace {

using Ints = std::vector<int64_t>;

int64_t product(const Shape& shape, const Ints& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= shape[static_cast<int>(d)];
  return n;
}

// x as a matrix [batch, free, contract], its free dimensions in order.
Tensor as_matrix(const Tensor& x, const Ints& batch, const Ints& contract) {
  Ints order = batch, free;
  for (int64_t d = 0; d < x.rank(); ++d) {
    bool used = std::find(batch.begin(), batch.end(), d) != batch.end() ||
                std::find(contract.begin(), contract.end(), d) != contract.end();
    if (!used) free.push_back(d);
  }
  order.insert(order.end(), free.begin(), free.end());
  order.insert(order.end(), contract.begin(), contract.end());
  return reshape(transpose(x, order), {product(x.shape(), batch), product(x.shape(), free),
                                       product(x.shape(), contract)});
}

}  // namespace

Graph regular_dots(const Graph& graph) {
  return rewrite(graph, [](const Node& node, const std::vector<Tensor>& in) -> std::vector<Tensor> {
    if (node.op != &op_dot_general || plan_dot(node, 1)) return {};
    if (size_of(node.types[0].dtype) > 4 || size_of(in[0].dtype()) > 4)
      return {};  // f64 has no product here
    Tensor lhs = as_matrix(in[0], node.attrs.ints("lhs_batch"), node.attrs.ints("lhs_contract"));
    Tensor rhs = as_matrix(in[1], node.attrs.ints("rhs_batch"), node.attrs.ints("rhs_contract"));
    Tensor result = dot_general(lhs, rhs, {{0}, {0}, {2}, {2}}, node.types[0].dtype);
    return {reshape(result, node.types[0].shape.dims())};
  });
}

}  // namespace centavo::cpu
