// rng_bit_generator and dropout: counter-based, so a mask is never stored but made again.
#include "centavo/base/philox.h"
#include "centavo/ops/creation.h"
#include "centavo/ops/elementwise.h"
#include "centavo/ops/nn.h"
#include "centavo/ops/registry.h"

namespace centavo {
namespace {

void check_key(const InferArgs& args, size_t i) {
  if (args.type(i) != TensorType{DType::kU32, {2}})
    args.fail("expects a key u32[2], got {}", to_string(args.type(i)));
}

}  // namespace

const Op op_rng_bit_generator = {
    .name = "rng_bit_generator",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(1);
      check_key(args, 0);
      return {{DType::kU32, Shape(args.attrs.ints("shape"))}};
    },
    .vjp = [](const VjpArgs&) -> std::vector<Tensor> { return {Tensor()}; },
    .eval = [](std::span<const Array> in, const Node& node) -> std::vector<Array> {
      Array out(node.types[0]);
      std::array<uint32_t, 2> key = {static_cast<uint32_t>(in[0].wholes[0]),
                                     static_cast<uint32_t>(in[0].wholes[1])};
      auto stream = static_cast<uint64_t>(node.attrs.integer("stream"));
      for (uint64_t i = 0; i < out.wholes.size(); ++i) {
        PhiloxBlock block =
            philox4x32({static_cast<uint32_t>(i / 4), static_cast<uint32_t>(i / 4 >> 32),
                        static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)},
                       key);
        out.wholes[i] = block[i % 4];
      }
      return {out};
    },
    .cases = []() -> std::vector<Case> {
      return {{"odd",
               {{{DType::kU32, {2}}, 0, 1e9}},
               Attrs().set("shape", std::vector<int64_t>{3, 17}).set("stream", 5),
               0,
               false}};
    },
};

const Op op_dropout = {
    .name = "dropout",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      args.expect_inputs(2);
      check_key(args, 1);
      double rate = args.attrs.real("rate");
      if (!(rate >= 0 && rate < 1)) args.fail("rate {} is outside [0, 1)", rate);
      if (!is_floating(args.dtype(0)))
        args.fail("expects a floating dtype, got {}", to_string(args.type(0)));
      return {args.type(0)};
    },
    .vjp = [](const VjpArgs& a) -> std::vector<Tensor> {
      return {record1(op_dropout, {a.grads[0], a.inputs[1]}, a.attrs), Tensor()};
    },
    .decompose = [](std::span<const Tensor> in, const Attrs& attrs) -> std::vector<Tensor> {
      double rate = attrs.real("rate");
      Tensor bits = random_bits(in[1], in[0].shape(), attrs.integer("stream"));
      Tensor keep = compare(bits, full_like(bits, rate * 0x1p32), Comparison::kGe);
      return {select(keep, in[0] * (1 / (1 - rate)), full_like(in[0], 0))};
    },
    .cases = []() -> std::vector<Case> {
      std::vector<Case> list;
      for (DType d : {DType::kF32, DType::kBF16}) {
        list.push_back({std::string(name_of(d)),
                        {{{d, {3, 17}}}, {{DType::kU32, {2}}, 0, 1e9}},
                        Attrs().set("rate", 0.3).set("stream", 7),
                        1e-6});
      }
      return list;
    },
};

Tensor random_bits(const Tensor& key, const Shape& shape, int64_t stream, const Loc& loc) {
  return record1(op_rng_bit_generator, {key},
                 Attrs().set("shape", shape.dims()).set("stream", stream), loc);
}
Tensor dropout(const Tensor& x, const Tensor& key, double rate, int64_t stream, const Loc& loc) {
  if (rate == 0) return x;
  return record1(op_dropout, {x, key}, Attrs().set("rate", rate).set("stream", stream), loc);
}

}  // namespace centavo
