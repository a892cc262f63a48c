// dot_general and the products built on it.
#include "centavo/ops/linear.h"

#include <algorithm>
#include <numeric>

#include "centavo/ops/elementwise.h"
#include "centavo/ops/movement.h"
#include "centavo/ops/registry.h"

namespace centavo {
namespace {

using Ints = std::vector<int64_t>;

bool contains(const Ints& dims, int64_t d) {
  return std::find(dims.begin(), dims.end(), d) != dims.end();
}

// The dimensions of a rank that are neither batch nor contracted, in order.
Ints free_dims(int rank, const Ints& batch, const Ints& contract) {
  Ints free;
  for (int64_t d = 0; d < rank; ++d) {
    if (!contains(batch, d) && !contains(contract, d)) free.push_back(d);
  }
  return free;
}

DotDims dims_of(const Attrs& attrs) {
  return {attrs.ints("lhs_batch"), attrs.ints("rhs_batch"), attrs.ints("lhs_contract"),
          attrs.ints("rhs_contract")};
}

int64_t product(const Shape& shape, const Ints& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= shape[static_cast<int>(d)];
  return n;
}

std::vector<TensorType> infer(const InferArgs& args) {
  args.expect_inputs(2);
  DotDims d = dims_of(args.attrs);
  const Shape &lhs = args.shape(0), &rhs = args.shape(1);
  if (args.dtype(0) != args.dtype(1) || !is_floating(args.dtype(0))) {
    args.fail("expects two operands of one floating dtype, got {} and {}", to_string(args.type(0)),
              to_string(args.type(1)));
  }
  auto check = [&](const Ints& left, const Ints& right, const char* what) {
    bool fits = left.size() == right.size();
    for (size_t i = 0; fits && i < left.size(); ++i) {
      fits = left[i] >= 0 && left[i] < lhs.rank() && right[i] >= 0 && right[i] < rhs.rank() &&
             lhs[static_cast<int>(left[i])] == rhs[static_cast<int>(right[i])];
    }
    if (!fits) {
      args.fail("{} dimensions {} of {} do not match {} of {}", what, to_string(Shape(left)),
                to_string(args.type(0)), to_string(Shape(right)), to_string(args.type(1)));
    }
  };
  check(d.lhs_batch, d.rhs_batch, "batch");
  check(d.lhs_contract, d.rhs_contract, "contracted");
  Ints out;
  for (int64_t i : d.lhs_batch) out.push_back(lhs[static_cast<int>(i)]);
  for (int64_t i : free_dims(lhs.rank(), d.lhs_batch, d.lhs_contract))
    out.push_back(lhs[static_cast<int>(i)]);
  for (int64_t i : free_dims(rhs.rank(), d.rhs_batch, d.rhs_contract))
    out.push_back(rhs[static_cast<int>(i)]);
  return {{args.attrs.dtype("dtype"), Shape(out)}};
}

std::vector<Array> eval(std::span<const Array> in, const Node& node) {
  DotDims d = dims_of(node.attrs);
  const Shape &lhs = in[0].type.shape, &rhs = in[1].type.shape;
  Ints lhs_free = free_dims(lhs.rank(), d.lhs_batch, d.lhs_contract);
  Ints rhs_free = free_dims(rhs.rank(), d.rhs_batch, d.rhs_contract);
  Ints lhs_strides = lhs.strides(), rhs_strides = rhs.strides();
  Ints contract;
  for (int64_t i : d.lhs_contract) contract.push_back(lhs[static_cast<int>(i)]);
  Array out(node.types[0]);
  size_t at = 0;
  for (IndexIterator it(out.type.shape); it.valid(); it.next(), ++at) {
    int64_t lhs_at = 0, rhs_at = 0;
    size_t r = 0;
    for (size_t b = 0; b < d.lhs_batch.size(); ++b, ++r) {
      lhs_at += it.index()[r] * lhs_strides[static_cast<size_t>(d.lhs_batch[b])];
      rhs_at += it.index()[r] * rhs_strides[static_cast<size_t>(d.rhs_batch[b])];
    }
    for (int64_t f : lhs_free) lhs_at += it.index()[r++] * lhs_strides[static_cast<size_t>(f)];
    for (int64_t f : rhs_free) rhs_at += it.index()[r++] * rhs_strides[static_cast<size_t>(f)];
    double total = 0;
    for (IndexIterator k{Shape(contract)}; k.valid(); k.next()) {
      int64_t left = lhs_at, right = rhs_at;
      for (size_t c = 0; c < contract.size(); ++c) {
        left += k.index()[c] * lhs_strides[static_cast<size_t>(d.lhs_contract[c])];
        right += k.index()[c] * rhs_strides[static_cast<size_t>(d.rhs_contract[c])];
      }
      total += in[0].reals[static_cast<size_t>(left)] * in[1].reals[static_cast<size_t>(right)];
    }
    out.reals[at] = total;
  }
  return {out};
}

// The gradient of one operand: the other operand and g contracted over the other's free dimensions,
// then its dimensions put in order. `g_batch_free` is where the other operand's free dimensions
// start in g.
Tensor operand_grad(const Tensor& operand, const Tensor& other, const Tensor& g, const Ints& batch,
                    const Ints& other_batch, const Ints& contract, const Ints& other_contract,
                    bool operand_is_lhs) {
  Ints free = free_dims(operand.rank(), batch, contract);
  Ints other_free = free_dims(other.rank(), other_batch, other_contract);
  Ints g_batch(batch.size()), g_contract(other_free.size());
  std::iota(g_batch.begin(), g_batch.end(), 0);
  int64_t start = static_cast<int64_t>(batch.size() + (operand_is_lhs ? free.size() : 0));
  std::iota(g_contract.begin(), g_contract.end(), start);
  Tensor converted = convert(g, other.dtype());
  Tensor result = dot_general(converted, other, {g_batch, other_batch, g_contract, other_free},
                              operand.dtype());
  // Result: batch, operand's free dimensions, then the contracted ones in the order they have in
  // `other`.
  Ints order(contract.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return other_contract[static_cast<size_t>(a)] < other_contract[static_cast<size_t>(b)];
  });
  Ints place;  // operand dimension held by each result dimension
  place.insert(place.end(), batch.begin(), batch.end());
  place.insert(place.end(), free.begin(), free.end());
  for (int64_t i : order) place.push_back(contract[static_cast<size_t>(i)]);
  Ints permutation(place.size());
  for (size_t i = 0; i < place.size(); ++i)
    permutation[static_cast<size_t>(place[i])] = static_cast<int64_t>(i);
  return transpose(result, permutation);
}

std::vector<Tensor> vjp(const VjpArgs& a) {
  DotDims d = dims_of(a.attrs);
  const Tensor &lhs = a.inputs[0], &rhs = a.inputs[1], &g = a.grads[0];
  return {a.needs[0] ? operand_grad(lhs, rhs, g, d.lhs_batch, d.rhs_batch, d.lhs_contract,
                                    d.rhs_contract, true)
                     : Tensor(),
          a.needs[1] ? operand_grad(rhs, lhs, g, d.rhs_batch, d.lhs_batch, d.rhs_contract,
                                    d.lhs_contract, false)
                     : Tensor()};
}

Attrs attrs_of(const DotDims& d, DType dtype) {
  return Attrs()
      .set("lhs_batch", d.lhs_batch)
      .set("rhs_batch", d.rhs_batch)
      .set("lhs_contract", d.lhs_contract)
      .set("rhs_contract", d.rhs_contract)
      .set("dtype", dtype);
}

std::vector<Case> cases() {
  std::vector<Case> list;
  auto add = [&](std::string label, Shape lhs, Shape rhs, DotDims d) {
    for (DType dtype : {DType::kF32, DType::kBF16}) {
      list.push_back({fmt::format("{}_{}", label, name_of(dtype)),
                      {{{dtype, lhs}}, {{dtype, rhs}}},
                      attrs_of(d, dtype),
                      1e-5});
    }
  };
  add("matmul", {17, 33}, {33, 65}, {{}, {}, {1}, {0}});
  add("linear", {2, 197, 24}, {40, 24}, {{}, {}, {2}, {1}});
  add("weight_gradient", {2, 197, 24}, {2, 197, 40}, {{}, {}, {0, 1}, {0, 1}});
  add("both_transposed", {33, 17}, {65, 33}, {{}, {}, {0}, {1}});
  add("batched", {3, 17, 8}, {3, 19, 8}, {{0}, {0}, {2}, {2}});
  add("heads", {2, 7, 3, 4}, {2, 9, 3, 4}, {{0, 2}, {0, 2}, {3}, {3}});
  add("vector", {1, 5}, {5, 1}, {{}, {}, {1}, {0}});
  add("outer", {5}, {7}, {});
  list.push_back({"mixed",
                  {{{DType::kBF16, {17, 33}}}, {{DType::kBF16, {33, 65}}}},
                  attrs_of({{}, {}, {1}, {0}}, DType::kF32),
                  1e-5});
  return list;
}

}  // namespace

const Op op_dot_general = {
    .name = "dot_general",
    .infer = infer,
    .vjp = vjp,
    .eval = eval,
    .cost = [](const Node& node) -> Cost {
      DotDims d = dims_of(node.attrs);
      double out = static_cast<double>(node.types[0].shape.elements());
      double bytes = static_cast<double>(node.inputs[0].type().bytes() +
                                         node.inputs[1].type().bytes() + node.types[0].bytes());
      return {2 * out * static_cast<double>(product(node.inputs[0].shape(), d.lhs_contract)),
              bytes};
    },
    .cases = cases,
};

Tensor dot_general(const Tensor& lhs, const Tensor& rhs, const DotDims& dims,
                   std::optional<DType> dtype, const Loc& loc) {
  return record1(op_dot_general, {lhs, rhs}, attrs_of(dims, dtype.value_or(lhs.dtype())), loc);
}

Tensor matmul(const Tensor& a, const Tensor& b, const Loc& loc) {
  if (a.rank() < 2 || b.rank() < 2)
    throw Error("matmul", "expects matrices, got {} and {}", to_string(a.type()),
                to_string(b.type()));
  DotDims dims{{}, {}, {a.rank() - 1}, {b.rank() - 2}};
  for (int d = 0; d < b.rank() - 2; ++d) {
    dims.lhs_batch.push_back(d);
    dims.rhs_batch.push_back(d);
  }
  return dot_general(a, b, dims, {}, loc);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, const Loc& loc) {
  if (weight.rank() != 2 || x.rank() < 1 || x.dim(-1) != weight.dim(1)) {
    throw Error("linear", "weight {} does not fit an input of {} ({})", to_string(weight.type()),
                to_string(x.type()), to_string(loc));
  }
  Tensor y = dot_general(x, weight, {{}, {}, {x.rank() - 1}, {1}}, {}, loc);
  return bias.defined() ? add(y, convert(bias, y.dtype()), loc) : y;
}

}  // namespace centavo
