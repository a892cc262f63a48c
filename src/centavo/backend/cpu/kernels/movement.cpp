// Kernels of the ops that only move elements: all are copies between two strided views of equal
// extents.
#include <algorithm>
#include <cstring>

#include "centavo/backend/cpu/kernel.h"
#include "centavo/ir/op.h"
#include "centavo/ops/registry.h"

namespace centavo::cpu {
namespace {

using Ints = std::vector<int64_t>;

// One dimension of a copy: its extent, and how far source and target move a step, in elements.
struct Dim {
  int64_t extent, source, target;
};

// A copy of a block of elements between two places of memory.
struct StridedCopy {
  std::vector<Dim> dims;           // outermost first
  int64_t source = 0, target = 0;  // first elements
};

// Drops extents of 1 and merges neighbours that both sides walk as one; then puts the dimension
// along which the target is contiguous last, and before it the one along which the source is.
StridedCopy normalized(StridedCopy copy) {
  std::vector<Dim> merged;
  std::stable_sort(copy.dims.begin(), copy.dims.end(), [](const Dim& a, const Dim& b) {
    return std::abs(a.target) > std::abs(b.target);
  });
  for (const Dim& d : copy.dims) {
    if (d.extent == 1) continue;
    if (!merged.empty() && merged.back().source == d.source * d.extent &&
        merged.back().target == d.target * d.extent) {
      merged.back() = {merged.back().extent * d.extent, d.source, d.target};
    } else {
      merged.push_back(d);
    }
  }
  if (merged.size() > 2 && merged.back().source != 1) {
    auto along_source =
        std::find_if(merged.begin(), merged.end() - 1, [](const Dim& d) { return d.source == 1; });
    if (along_source != merged.end() - 1)
      std::rotate(along_source, along_source + 1, merged.end() - 1);
  }
  copy.dims = std::move(merged);
  return copy;
}

// The innermost one or two dimensions; T has the element's size.
template <class T>
void copy_inner(const T* source, T* target, const Dim* dims, size_t count) {
  if (count == 0) {
    *target = *source;
  } else if (count == 1) {
    const Dim d = dims[0];
    if (d.source == 1 && d.target == 1) {
      std::memcpy(target, source, static_cast<size_t>(d.extent) * sizeof(T));
    } else if (d.source == 0 && d.target == 1) {
      std::fill_n(target, d.extent, *source);
    } else {
      for (int64_t i = 0; i < d.extent; ++i) target[i * d.target] = source[i * d.source];
    }
  } else if (dims[1].source == 1 || dims[0].source != 1) {
    for (int64_t i = 0; i < dims[0].extent; ++i)
      copy_inner(source + i * dims[0].source, target + i * dims[0].target, dims + 1, 1);
  } else {
    // A transpose: in square blocks, so that the lines of both sides stay in cache while they are
    // used.
    constexpr int64_t kBlock = 32;
    for (int64_t i0 = 0; i0 < dims[0].extent; i0 += kBlock) {
      for (int64_t j0 = 0; j0 < dims[1].extent; j0 += kBlock) {
        const int64_t i1 = std::min(dims[0].extent, i0 + kBlock),
                      j1 = std::min(dims[1].extent, j0 + kBlock);
        for (int64_t i = i0; i < i1; ++i) {
          for (int64_t j = j0; j < j1; ++j)
            target[i * dims[0].target + j * dims[1].target] =
                source[i * dims[0].source + j * dims[1].source];
        }
      }
    }
  }
}

template <class T>
void copy_block(const StridedCopy& copy, const std::byte* source_bytes, std::byte* target_bytes,
                int threads) {
  const T* source = reinterpret_cast<const T*>(source_bytes) + copy.source;
  T* target = reinterpret_cast<T*>(target_bytes) + copy.target;
  const size_t inner = std::min<size_t>(2, copy.dims.size()), outer = copy.dims.size() - inner;
  int64_t blocks = 1, elements = 1;
  for (size_t d = 0; d < copy.dims.size(); ++d)
    (d < outer ? blocks : elements) *= copy.dims[d].extent;
  if (blocks * elements == 0) return;
  constexpr int64_t kWorthThreads = 1 << 15;
  const bool parallel = blocks > 1 && blocks * elements >= kWorthThreads;
#pragma omp parallel for schedule(static) num_threads(threads) if (parallel)
  for (int64_t b = 0; b < blocks; ++b) {
    int64_t rest = b, from = 0, to = 0;
    for (size_t d = outer; d-- > 0;) {
      const int64_t i = rest % copy.dims[d].extent;
      rest /= copy.dims[d].extent;
      from += i * copy.dims[d].source;
      to += i * copy.dims[d].target;
    }
    copy_inner(source + from, target + to, copy.dims.data() + outer, inner);
  }
}

void run_copy(const StridedCopy& copy, int64_t element, const std::byte* source, std::byte* target,
              int threads) {
  switch (element) {
    case 1:
      return copy_block<uint8_t>(copy, source, target, threads);
    case 2:
      return copy_block<uint16_t>(copy, source, target, threads);
    case 4:
      return copy_block<uint32_t>(copy, source, target, threads);
    default:
      return copy_block<uint64_t>(copy, source, target, threads);
  }
}

// A kernel that makes output 0 from input 0 by one copy.
Kernel copy_kernel(const Node& node, StridedCopy copy, const KernelContext& context) {
  copy = normalized(std::move(copy));
  const int64_t element = size_of(node.types[0].dtype);
  return [copy = std::move(copy), element, threads = context.threads](const KernelArgs& args) {
    run_copy(copy, element, args.inputs[0], args.outputs[0], threads);
  };
}

// Every element equal to the first `element` bytes of `pattern`.
void fill(std::byte* target, int64_t count, int64_t element, const std::byte* pattern,
          int threads) {
  StridedCopy copy;
  constexpr int64_t kRow = 1 << 14;
  if (count >= kRow) copy.dims = {{count / kRow, 0, kRow}, {1, 0, 0}, {kRow, 0, 1}};
  run_copy(copy.dims.empty() ? StridedCopy{{{count, 0, 1}}} : copy, element, pattern, target,
           threads);
  if (const int64_t tail = count % kRow; count >= kRow && tail > 0) {
    run_copy({{{tail, 0, 1}}, 0, count - tail}, element, pattern, target, 1);
  }
}

}  // namespace

Kernel make_transpose(const Node& node, const KernelContext& context) {
  const Ints& permutation = node.attrs.ints("permutation");
  Ints from = node.inputs[0].shape().strides(), to = node.types[0].shape.strides();
  StridedCopy copy;
  for (size_t d = 0; d < permutation.size(); ++d) {
    copy.dims.push_back(
        {node.types[0].shape.dims()[d], from[static_cast<size_t>(permutation[d])], to[d]});
  }
  return copy_kernel(node, std::move(copy), context);
}

Kernel make_slice(const Node& node, const KernelContext& context) {
  const Ints &start = node.attrs.ints("start"), &strides = node.attrs.ints("strides");
  Ints from = node.inputs[0].shape().strides(), to = node.types[0].shape.strides();
  StridedCopy copy;
  for (size_t d = 0; d < start.size(); ++d) {
    copy.dims.push_back({node.types[0].shape.dims()[d], from[d] * strides[d], to[d]});
    copy.source += start[d] * from[d];
  }
  return copy_kernel(node, std::move(copy), context);
}

Kernel make_reverse(const Node& node, const KernelContext& context) {
  const Shape& shape = node.types[0].shape;
  const Ints& reversed = node.attrs.ints("dims");
  Ints strides = shape.strides();
  StridedCopy copy;
  for (size_t d = 0; d < strides.size(); ++d) {
    bool turned =
        std::find(reversed.begin(), reversed.end(), static_cast<int64_t>(d)) != reversed.end();
    copy.dims.push_back({shape.dims()[d], turned ? -strides[d] : strides[d], strides[d]});
    if (turned) copy.source += (shape.dims()[d] - 1) * strides[d];
  }
  return copy_kernel(node, std::move(copy), context);
}

Kernel make_broadcast_in_dim(const Node& node, const KernelContext& context) {
  const Ints& dims = node.attrs.ints("dims");
  const Shape& in = node.inputs[0].shape();
  Ints from = in.strides(), to = node.types[0].shape.strides();
  StridedCopy copy;
  for (size_t d = 0; d < to.size(); ++d)
    copy.dims.push_back({node.types[0].shape.dims()[d], 0, to[d]});
  for (size_t i = 0; i < dims.size(); ++i) {
    if (in.dims()[i] != 1) copy.dims[static_cast<size_t>(dims[i])].source = from[i];
  }
  return copy_kernel(node, std::move(copy), context);
}

Kernel make_pad(const Node& node, const KernelContext& context) {
  const Ints &low = node.attrs.ints("low"), &interior = node.attrs.ints("interior");
  const TensorType& type = node.types[0];
  Ints from = node.inputs[0].shape().strides(), to = type.shape.strides();
  StridedCopy copy;
  for (size_t d = 0; d < low.size(); ++d) {
    copy.dims.push_back({node.inputs[0].shape().dims()[d], from[d], to[d] * (interior[d] + 1)});
    copy.target += low[d] * to[d];
  }
  copy = normalized(std::move(copy));
  Literal value = Literal::splat({type.dtype, {}}, node.attrs.real("value"));
  const int64_t element = size_of(type.dtype), count = type.shape.elements();
  return [copy, value, element, count, threads = context.threads](const KernelArgs& args) {
    fill(args.outputs[0], count, element, value.data().data(), threads);
    run_copy(copy, element, args.inputs[0], args.outputs[0], threads);
  };
}

Kernel make_concatenate(const Node& node, const KernelContext& context) {
  auto axis = static_cast<size_t>(node.attrs.integer("axis"));
  Ints to = node.types[0].shape.strides();
  std::vector<StridedCopy> parts;
  int64_t start = 0;
  for (const Tensor& input : node.inputs) {
    Ints from = input.shape().strides();
    StridedCopy copy;
    for (size_t d = 0; d < to.size(); ++d)
      copy.dims.push_back({input.shape().dims()[d], from[d], to[d]});
    copy.target = start * to[axis];
    start += input.shape().dims()[axis];
    parts.push_back(normalized(std::move(copy)));
  }
  const int64_t element = size_of(node.types[0].dtype);
  return [parts = std::move(parts), element, threads = context.threads](const KernelArgs& args) {
    for (size_t i = 0; i < parts.size(); ++i)
      run_copy(parts[i], element, args.inputs[i], args.outputs[0], threads);
  };
}

Kernel make_constant(const Node& node, const KernelContext& context) {
  auto literal = std::make_shared<const Literal>(node.attrs.literal("value"));
  const int64_t element = size_of(node.types[0].dtype), count = node.types[0].shape.elements();
  return [literal, element, count, threads = context.threads](const KernelArgs& args) {
    if (literal->is_splat()) {
      fill(args.outputs[0], count, element, literal->data().data(), threads);
    } else if (!literal->data().empty()) {
      std::memcpy(args.outputs[0], literal->data().data(), literal->data().size());
    }
  };
}

}  // namespace centavo::cpu
