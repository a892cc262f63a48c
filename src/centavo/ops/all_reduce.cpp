// all_reduce: one bucket of tensors, summed over the ranks.
#include "centavo/ops/all_reduce.h"

#include "centavo/ops/registry.h"

namespace centavo {

const Op op_all_reduce = {
    .name = "all_reduce",
    .infer = [](const InferArgs& args) -> std::vector<TensorType> {
      if (args.inputs.empty()) args.fail("expects at least one tensor");
      if (args.attrs.integer("ranks") < 1) args.fail("ranks must be at least 1");
      std::vector<TensorType> types;
      for (size_t i = 0; i < args.inputs.size(); ++i) {
        if (args.dtype(i) != args.dtype(0) || !is_floating(args.dtype(i)))
          args.fail("expects one floating dtype, got {} and {}", to_string(args.type(0)),
                    to_string(args.type(i)));
        types.push_back(args.type(i));
      }
      return types;
    },
    // The loss is understood as the sum of every rank's: what a rank's value does to all of them.
    .vjp = [](const VjpArgs& a) -> std::vector<Tensor> {
      std::vector<Tensor> given;
      for (const Tensor& g : a.grads) {
        if (g.defined()) given.push_back(g);
      }
      std::vector<Tensor> sums = record(op_all_reduce, given, a.attrs), results;
      for (size_t i = 0, next = 0; i < a.grads.size(); ++i)
        results.push_back(a.grads[i].defined() ? sums[next++] : Tensor());
      return results;
    },
    // What every rank gets when all of them hold these values.
    .eval = [](std::span<const Array> in, const Node& node) -> std::vector<Array> {
      const double factor =
          static_cast<double>(node.attrs.integer("ranks")) * node.attrs.real("scale");
      std::vector<Array> out(in.begin(), in.end());
      for (Array& array : out) {
        for (double& x : array.reals) x *= factor;
      }
      return out;
    },
    .cases = []() -> std::vector<Case> {
      const Attrs attrs = Attrs().set("ranks", 1).set("scale", 0.5);
      return {{"f32", {{{DType::kF32, {3, 17}}}}, attrs},
              {"f32_bucket", {{{DType::kF32, {3, 17}}}, {{DType::kF32, {}}}}, attrs},
              {"bf16", {{{DType::kBF16, {1000}}}}, attrs}};
    },
};

std::vector<Tensor> all_reduce(const std::vector<Tensor>& tensors, int64_t ranks, double scale,
                               const Loc& loc) {
  return record(op_all_reduce, tensors, Attrs().set("ranks", ranks).set("scale", scale), loc);
}

}  // namespace centavo
