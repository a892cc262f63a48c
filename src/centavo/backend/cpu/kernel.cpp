// The table of kernels by op.
#include "centavo/backend/cpu/kernel.h"

#include <algorithm>
#include <array>

#include "centavo/backend/cpu/kernels/fusion.h"
#include "centavo/ops/registry.h"

namespace centavo::cpu {

#define CENTAVO_CPU_KERNEL(name) Kernel make_##name(const Node&, const KernelContext&);
#include "centavo/backend/cpu/kernels.def"
#undef CENTAVO_CPU_KERNEL

namespace {

struct Entry {
  const Op* op;
  KernelMaker make;
};
const Entry kEntries[] = {
#define CENTAVO_CPU_KERNEL(name) {&op_##name, make_##name},
#include "centavo/backend/cpu/kernels.def"
#undef CENTAVO_CPU_KERNEL
    {nullptr, nullptr},
};

}  // namespace

KernelMaker find_kernel(const Op& op) {
  for (const Entry& entry : kEntries) {
    if (entry.op == &op) return entry.make;
  }
  return nullptr;
}

bool may_overwrite(const Node& node, int output, int input) {
  auto in = static_cast<size_t>(input), out = static_cast<size_t>(output);
  if (node.inputs[in].type().bytes() != node.types[out].bytes()) return false;
  if (node.op->elementwise) return true;
  if (node.op == &op_fusion) return fusion_may_overwrite(node, out, in);
  // Updates: the parameter, momentum and moments in place; output i is input 0, 2, 3, ...
  if (node.op == &op_adam_update || node.op == &op_sgd_update)
    return in == (out == 0 ? 0 : out + 1);
  if (node.op == &op_all_reduce) return in == out;
  // Kernels that are done with an element when they write its place.
  if (node.op == &op_layer_norm || node.op == &op_softmax || node.op == &op_cross_entropy_grad)
    return out == 0 && in == 0;
  if (node.op == &op_layer_norm_grad) return out == 0 && (in == 0 || in == 4);
  return false;
}

}  // namespace centavo::cpu
