// Kernel: one launch of an executable, made for one node with fixed shapes. Which ops have one:
// kernels.def.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "centavo/backend/cpu/cpu_level.h"
#include "centavo/dist/group.h"
#include "centavo/ir/tensor.h"

namespace centavo::cpu {

// Addresses of a node's inputs and outputs: dense, row-major, 64-byte aligned. Outputs may hold
// anything. An output may share its address with an input only if the kernel's node allows it (see
// may_overwrite).
struct KernelArgs {
  std::span<const std::byte* const> inputs;
  std::span<std::byte* const> outputs;

  template <class T>
  const T* in(size_t i) const {
    return reinterpret_cast<const T*>(inputs[i]);
  }
  template <class T>
  T* out(size_t i) const {
    return reinterpret_cast<T*>(outputs[i]);
  }
};

// Runs to completion on the calling thread and an OpenMP team of KernelContext::threads. Allocates
// nothing in steady state; gives the same bits for the same number of threads.
using Kernel = std::function<void(const KernelArgs&)>;

struct KernelContext {
  int threads = 1;
  CpuLevel level = cpu_level();
  dist::Group* group = nullptr;  // the ranks that all_reduce joins; null: this process alone
};

// Makes the kernel of `node`, or an empty one when this node's dtypes, shapes or attributes have
// none.
using KernelMaker = Kernel (*)(const Node& node, const KernelContext& context);

// The maker registered for the node's op in kernels.def; null when there is none.
KernelMaker find_kernel(const Op& op);

// Whether output `output` may be written over input `input` of the same size: every element is
// read, by the same thread, before its place is written.
bool may_overwrite(const Node& node, int output, int input);

}  // namespace centavo::cpu
