// Kernels of the ops that only move elements: one or a few strided copies each.
#include <algorithm>
#include <memory>

#include "centavo/backend/cpu/kernel.h"
#include "centavo/backend/cpu/kernels/strided_copy.h"
#include "centavo/backend/cpu/kernels/threads.h"
#include "centavo/ir/op.h"

namespace centavo::cpu {
namespace {

using Ints = std::vector<int64_t>;

int64_t element_bytes(const Node& node) {
  return size_of(node.types[0].dtype);
}

// Output 0 of the node from input 0, by one copy.
Kernel copy_kernel(const Node& node, StridedViews views, const KernelContext& context) {
  const StridedCopy copy(std::move(views), element_bytes(node), context.level);
  const int team = team_for(copy.elements(), context.threads);
  return [copy, team](const KernelArgs& args) {
    in_parallel(team, [&](int part) { copy.run(args.inputs[0], args.outputs[0], part, team); });
  };
}

// `count` elements, all equal to the one at the source.
StridedCopy fill(int64_t count, int64_t bytes, CpuLevel level) {
  return StridedCopy({{{count, 0, 1}}}, bytes, level);
}

}  // namespace

Kernel make_transpose(const Node& node, const KernelContext& context) {
  const Ints& permutation = node.attrs.ints("permutation");
  const Ints from = node.inputs[0].shape().strides(), to = node.types[0].shape.strides();
  StridedViews views;
  for (size_t d = 0; d < permutation.size(); ++d) {
    views.dims.push_back(
        {node.types[0].shape.dims()[d], from[static_cast<size_t>(permutation[d])], to[d]});
  }
  return copy_kernel(node, std::move(views), context);
}

Kernel make_slice(const Node& node, const KernelContext& context) {
  const Ints &start = node.attrs.ints("start"), &strides = node.attrs.ints("strides");
  const Ints from = node.inputs[0].shape().strides(), to = node.types[0].shape.strides();
  StridedViews views;
  for (size_t d = 0; d < start.size(); ++d) {
    views.dims.push_back({node.types[0].shape.dims()[d], from[d] * strides[d], to[d]});
    views.source += start[d] * from[d];
  }
  return copy_kernel(node, std::move(views), context);
}

Kernel make_reverse(const Node& node, const KernelContext& context) {
  const Shape& shape = node.types[0].shape;
  const Ints& reversed = node.attrs.ints("dims");
  const Ints strides = shape.strides();
  StridedViews views;
  for (size_t d = 0; d < strides.size(); ++d) {
    const bool turned =
        std::find(reversed.begin(), reversed.end(), static_cast<int64_t>(d)) != reversed.end();
    views.dims.push_back({shape.dims()[d], turned ? -strides[d] : strides[d], strides[d]});
    if (turned) views.source += (shape.dims()[d] - 1) * strides[d];
  }
  return copy_kernel(node, std::move(views), context);
}

Kernel make_broadcast_in_dim(const Node& node, const KernelContext& context) {
  const Ints& dims = node.attrs.ints("dims");
  const Shape& in = node.inputs[0].shape();
  const Ints from = in.strides(), to = node.types[0].shape.strides();
  StridedViews views;
  for (size_t d = 0; d < to.size(); ++d)
    views.dims.push_back({node.types[0].shape.dims()[d], 0, to[d]});
  for (size_t i = 0; i < dims.size(); ++i) {
    if (in.dims()[i] != 1) views.dims[static_cast<size_t>(dims[i])].source = from[i];
  }
  return copy_kernel(node, std::move(views), context);
}

Kernel make_pad(const Node& node, const KernelContext& context) {
  const Ints &low = node.attrs.ints("low"), &high = node.attrs.ints("high"),
             &interior = node.attrs.ints("interior");
  const TensorType &in = node.inputs[0].type(), &out = node.types[0];
  // Leading dimensions without padding count images, each of which is filled and then written into
  // while it is in cache.
  size_t outer = 0;
  int64_t images = 1;
  while (outer < low.size() && low[outer] == 0 && high[outer] == 0 && interior[outer] == 0)
    images *= in.shape.dims()[outer++];
  const Ints from = in.shape.strides(), to = out.shape.strides();
  StridedViews views;
  for (size_t d = outer; d < low.size(); ++d) {
    views.dims.push_back({in.shape.dims()[d], from[d], to[d] * (interior[d] + 1)});
    views.target += low[d] * to[d];
  }
  const int64_t bytes = element_bytes(node);
  const Literal value = Literal::splat({out.dtype, {}}, node.attrs.real("value"));
  const int64_t in_image = in.bytes() / std::max<int64_t>(1, images),
                out_image = out.bytes() / std::max<int64_t>(1, images);
  const StridedCopy filling = fill(out_image / bytes, bytes, context.level),
                    copy(std::move(views), bytes, context.level);
  const int team = team_for(out.shape.elements(), context.threads);
  if (images < team) {
    return [=](const KernelArgs& args) {
      for (int64_t i = 0; i < images; ++i) {
        std::byte* to_image = args.outputs[0] + i * out_image;
        const std::byte* from_image = args.inputs[0] + i * in_image;
        in_parallel(team, [&](int p) { filling.run(value.data().data(), to_image, p, team); });
        in_parallel(team, [&](int p) { copy.run(from_image, to_image, p, team); });
      }
    };
  }
  return [=](const KernelArgs& args) {
    in_parallel(team, [&](int part) {
      const Range mine = share(images, part, team);
      for (int64_t i = mine.begin; i < mine.end; ++i) {
        filling.run(value.data().data(), args.outputs[0] + i * out_image);
        copy.run(args.inputs[0] + i * in_image, args.outputs[0] + i * out_image);
      }
    });
  };
}

Kernel make_concatenate(const Node& node, const KernelContext& context) {
  const auto axis = static_cast<size_t>(node.attrs.integer("axis"));
  const Ints to = node.types[0].shape.strides();
  std::vector<StridedCopy> copies;
  int64_t start = 0;
  for (const Tensor& input : node.inputs) {
    const Ints from = input.shape().strides();
    StridedViews views;
    for (size_t d = 0; d < to.size(); ++d)
      views.dims.push_back({input.shape().dims()[d], from[d], to[d]});
    views.target = start * to[axis];
    start += input.shape().dims()[axis];
    copies.emplace_back(std::move(views), element_bytes(node), context.level);
  }
  const int team = team_for(node.types[0].shape.elements(), context.threads);
  return [copies = std::move(copies), team](const KernelArgs& args) {
    in_parallel(team, [&](int part) {
      for (size_t i = 0; i < copies.size(); ++i)
        copies[i].run(args.inputs[i], args.outputs[0], part, team);
    });
  };
}

Kernel make_constant(const Node& node, const KernelContext& context) {
  auto literal = std::make_shared<const Literal>(node.attrs.literal("value"));
  const int64_t count = node.types[0].shape.elements();
  const StridedCopy copy({{{count, literal->is_splat() ? 0 : 1, 1}}}, element_bytes(node),
                         context.level);
  const int team = team_for(count, context.threads);
  return [=](const KernelArgs& args) {
    in_parallel(team,
                [&](int part) { copy.run(literal->data().data(), args.outputs[0], part, team); });
  };
}

}  // namespace centavo::cpu
