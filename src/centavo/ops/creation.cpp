// constant and iota.
#include "centavo/ops/creation.h"

#include <algorithm>

#include "centavo/ops/registry.h"

namespace centavo {
namespace {

std::vector<Tensor> no_inputs(const VjpArgs&) {
  return {};
}
Cost output_only(const Node& node) {
  return {0, static_cast<double>(node.types[0].bytes())};
}
Cost nothing(const Node&) {
  return {};
}

}  // namespace

const Op op_constant = {
    .name = "constant",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(0);
      return {args.attrs.literal("value").type()};
    },
    .vjp = no_inputs,
    .eval = [](std::span<const Array>, const Node& node) -> std::vector<Array> {
      const Literal& literal = node.attrs.literal("value");
      if (!literal.is_splat()) return {Array::from_bytes(literal.type(), literal.data().data())};
      const Array element = Array::from_bytes({literal.type().dtype, {}}, literal.data().data());
      Array out(literal.type());
      std::fill(out.reals.begin(), out.reals.end(), out.floating() ? element.reals[0] : 0);
      std::fill(out.wholes.begin(), out.wholes.end(), out.floating() ? 0 : element.wholes[0]);
      return {out};
    },
    .cost = nothing,
    .cases = []() -> std::vector<Case> {
      auto splat = [](TensorType type, double x) {
        return Attrs().set("value", std::make_shared<const Literal>(Literal::splat(type, x)));
      };
      std::vector<std::byte> bytes(3 * sizeof(float));
      const float values[3] = {1.5f, -2.0f, 0.25f};
      std::memcpy(bytes.data(), values, sizeof values);
      auto dense = std::make_shared<const Literal>(Literal({DType::kF32, {3}}, bytes));
      return {{"splat", {}, splat({DType::kF32, {3, 5}}, 0.1), 0, false},
              {"splat_i32", {}, splat({DType::kI32, {}}, -3), 0, false},
              {"dense", {}, Attrs().set("value", dense), 0, false}};
    },
};

const Op op_iota = {
    .name = "iota",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(0);
      Shape shape(args.attrs.ints("shape"));
      int64_t axis = args.attrs.integer("axis");
      if (axis < 0 || axis >= shape.rank())
        args.fail("axis {} is outside {}", axis, to_string(shape));
      return {{args.attrs.dtype("dtype"), shape}};
    },
    .vjp = no_inputs,
    .eval = [](std::span<const Array>, const Node& node) -> std::vector<Array> {
      Array out(node.types[0]);
      auto axis = static_cast<size_t>(node.attrs.integer("axis"));
      int64_t i = 0;
      for (IndexIterator it(out.type.shape); it.valid(); it.next())
        out.set(i++, static_cast<double>(it.index()[axis]));
      return {out};
    },
    .cost = output_only,
    .cases = []() -> std::vector<Case> {
      std::vector<Case> list;
      for (int axis : {0, 1, 2}) {
        for (DType d : {DType::kI32, DType::kF32}) {
          list.push_back({fmt::format("axis{}_{}", axis, name_of(d)),
                          {},
                          Attrs()
                              .set("axis", axis)
                              .set("dtype", d)
                              .set("shape", std::vector<int64_t>{3, 5, 7}),
                          0,
                          false});
        }
      }
      return list;
    },
};

Tensor constant(Literal literal, const Loc& loc) {
  return record1(op_constant, {},
                 Attrs().set("value", std::make_shared<const Literal>(std::move(literal))), loc);
}
Tensor full(const Shape& shape, double value, DType dtype, const Loc& loc) {
  return constant(Literal::splat({dtype, shape}, value), loc);
}
Tensor full_like(const Tensor& x, double value, const Loc& loc) {
  return full(x.shape(), value, x.dtype(), loc);
}
Tensor iota(const TensorType& type, int axis, const Loc& loc) {
  return record1(op_iota, {},
                 Attrs().set("axis", axis).set("dtype", type.dtype).set("shape", type.shape.dims()),
                 loc);
}

}  // namespace centavo
