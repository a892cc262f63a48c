// all_reduce: packs the bucket and hands it to the group; waits for the other ranks.
#include <vector>

#include "centavo/backend/cpu/kernel.h"
#include "centavo/base/error.h"

namespace centavo::cpu {

Kernel make_all_reduce(const Node& node, const KernelContext& context) {
  const int64_t ranks = node.attrs.integer("ranks"),
                joined = context.group ? context.group->size() : 1;
  if (ranks != joined)
    throw Error("all_reduce", "recorded for {} ranks, and the device was opened with {}", ranks,
                joined);
  const DType dtype = node.types[0].dtype;
  if (ranks == 1 || dtype > DType::kF64) return {};  // the oracle's loop
  std::vector<int64_t> counts;
  for (const TensorType& type : node.types) counts.push_back(type.shape.elements());
  return [group = context.group, counts, dtype, scale = node.attrs.real("scale"),
          pieces = std::vector<dist::Piece>(counts.size())](const KernelArgs& args) mutable {
    for (size_t i = 0; i < counts.size(); ++i)
      pieces[i] = {args.inputs[i], args.outputs[i], counts[i]};
    group->all_reduce(pieces, dtype, scale);
  };
}

}  // namespace centavo::cpu
