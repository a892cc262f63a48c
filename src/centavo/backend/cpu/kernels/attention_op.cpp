// The attention ops on packed query, key and value, through the attention kernels.
#include <cmath>

#include "centavo/backend/cpu/kernel.h"
#include "centavo/backend/cpu/kernels/attention.h"
#include "centavo/ir/op.h"

namespace centavo::cpu {
namespace {

constexpr int64_t kMaxHeadDim = 256;

AttentionSpec spec_of(const Node& node, const KernelContext& context) {
  const TensorType& qkv = node.inputs[0].type();
  AttentionSpec spec;
  spec.heads = node.attrs.integer("heads");
  spec.batch = qkv.shape[0];
  spec.q_tokens = spec.kv_tokens = qkv.shape[1];
  spec.head_dim = qkv.shape[2] / (3 * spec.heads);
  spec.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(spec.head_dim)));
  spec.causal = node.attrs.flag("causal");
  spec.dtype = qkv.dtype;
  spec.threads = context.threads;
  const int64_t width = spec.heads * spec.head_dim;
  spec.q = spec.k = spec.v = {spec.q_tokens * 3 * width, 3 * width, spec.head_dim};
  spec.out = {spec.q_tokens * width, width, spec.head_dim};
  return spec;
}

bool supported(const AttentionSpec& spec) {
  return (spec.dtype == DType::kF32 || spec.dtype == DType::kBF16) && spec.head_dim >= 1 &&
         spec.head_dim <= kMaxHeadDim;
}

// Query, key and value (or their gradients) inside packed memory.
template <class Byte>
struct Packed {
  Packed(Byte* start, const AttentionSpec& spec)
      : q(start), k(start + spec.heads * spec.head_dim * size_of(spec.dtype)), v(k + (k - q)) {}
  Byte *q, *k, *v;
};

}  // namespace

Kernel make_attention(const Node& node, const KernelContext& context) {
  AttentionSpec spec = spec_of(node, context);
  if (!supported(spec)) return {};
  return [spec](const KernelArgs& args) {
    Packed<const std::byte> in(args.inputs[0], spec);
    attention_forward(spec, in.q, in.k, in.v, args.outputs[0], args.out<float>(1));
  };
}

Kernel make_attention_grad(const Node& node, const KernelContext& context) {
  AttentionSpec spec = spec_of(node, context);
  if (!supported(spec)) return {};
  return [spec](const KernelArgs& args) {
    Packed<const std::byte> in(args.inputs[0], spec);
    Packed<std::byte> grad(args.outputs[0], spec);
    attention_backward(spec, in.q, in.k, in.v, args.inputs[1], args.inputs[3], args.in<float>(2),
                       grad.q, grad.k, grad.v);
  };
}

}  // namespace centavo::cpu
