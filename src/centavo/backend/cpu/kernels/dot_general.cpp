// dot_general through gemm: groups of dimensions become M, N, K and batch.
#include "centavo/backend/cpu/kernels/dot_general.h"

#include <algorithm>

#include "centavo/backend/cpu/kernel.h"
#include "centavo/base/log.h"
#include "centavo/ir/op.h"

namespace centavo::cpu {
namespace {

using Ints = std::vector<int64_t>;

// A run of dimensions seen as one: its extent and the stride of each operand that has it.
struct Axis {
  int64_t extent = 1;
  int64_t a = 0, b = 0;
};

// Merges neighbours wherever every operand walks both with one stride. Extents of 1 vanish.
std::vector<Axis> merge(const std::vector<Axis>& axes) {
  std::vector<Axis> merged;
  for (const Axis& axis : axes) {
    if (axis.extent == 1) continue;
    if (!merged.empty() && merged.back().a == axis.a * axis.extent &&
        merged.back().b == axis.b * axis.extent) {
      merged.back() = {merged.back().extent * axis.extent, axis.a, axis.b};
    } else {
      merged.push_back(axis);
    }
  }
  return merged;
}

struct Operand {
  const Shape& shape;
  Ints strides;
  int64_t stride(int64_t d) const { return strides[static_cast<size_t>(d)]; }
  int64_t extent(int64_t d) const { return shape[static_cast<int>(d)]; }
};

std::vector<Axis> free_axes(const Operand& x, const Ints& batch, const Ints& contract, bool is_a) {
  std::vector<Axis> axes;
  for (int64_t d = 0; d < x.shape.rank(); ++d) {
    bool used = std::find(batch.begin(), batch.end(), d) != batch.end() ||
                std::find(contract.begin(), contract.end(), d) != contract.end();
    if (!used) axes.push_back({x.extent(d), is_a ? x.stride(d) : 0, is_a ? 0 : x.stride(d)});
  }
  return merge(axes);
}

std::vector<Axis> paired_axes(const Operand& a, const Operand& b, const Ints& a_dims,
                              const Ints& b_dims) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < a_dims.size(); ++i)
    axes.push_back({a.extent(a_dims[i]), a.stride(a_dims[i]), b.stride(b_dims[i])});
  return axes;
}

// bf16 products are right at every level, but only fast with instructions for them.
void mention_slow_bf16(const GemmSpec& spec) {
  if (spec.compute != Compute::kBF16 || cpu_level() >= CpuLevel::kAvx512Bf16) return;
  log_once(LogLevel::kInfo,
           fmt::format("bf16 products run in fp32 here, no faster than --precision fp32 (level {})",
                       name_of(cpu_level())));
}

bool has_product(DType d) {
  return d == DType::kF32 || d == DType::kBF16;
}

}  // namespace

std::optional<DotPlan> plan_dot(const Node& node, int threads) {
  const TensorType &a_type = node.inputs[0].type(), &b_type = node.inputs[1].type();
  if (!has_product(a_type.dtype) || !has_product(node.types[0].dtype)) return {};
  Operand a{a_type.shape, a_type.shape.strides()}, b{b_type.shape, b_type.shape.strides()};
  const Ints &a_batch = node.attrs.ints("lhs_batch"), &b_batch = node.attrs.ints("rhs_batch");
  const Ints &a_contract = node.attrs.ints("lhs_contract"),
             &b_contract = node.attrs.ints("rhs_contract");

  std::vector<Axis> rows = free_axes(a, a_batch, a_contract, true),
                    cols = free_axes(b, b_batch, b_contract, false);
  // The order of summation is free, so contracted dimensions may be sorted into an order that
  // merges.
  std::vector<Axis> sums = paired_axes(a, b, a_contract, b_contract);
  std::stable_sort(sums.begin(), sums.end(),
                   [](const Axis& x, const Axis& y) { return x.a > y.a; });
  sums = merge(sums);
  if (rows.size() > 1 || cols.size() > 1 || sums.size() > 1) return {};
  auto only = [](const std::vector<Axis>& axes) { return axes.empty() ? Axis{1, 1, 1} : axes[0]; };
  Axis m = only(rows), n = only(cols), k = only(sums);

  DotPlan plan;
  GemmSpec& spec = plan.spec;
  spec.m = m.extent;
  spec.n = n.extent;
  spec.k = k.extent;
  spec.a = {a_type.dtype, m.a, k.a, 0};
  spec.b = {b_type.dtype, k.b, n.b, 0};
  spec.compute = a_type.dtype == DType::kBF16 ? Compute::kBF16 : Compute::kF32;
  spec.threads = threads;
  std::vector<Axis> batches = merge(paired_axes(a, b, a_batch, b_batch));
  if (!batches.empty()) {
    spec.batch = batches.back().extent;
    spec.a.batch_stride = batches.back().a;
    spec.b.batch_stride = batches.back().b;
    batches.pop_back();
  }
  plan.a_offsets = plan.b_offsets = plan.c_offsets = {0};
  for (const Axis& axis : batches) {
    DotPlan before = std::move(plan);
    plan.spec = before.spec;
    plan.a_offsets.clear(), plan.b_offsets.clear();
    for (size_t i = 0; i < before.a_offsets.size(); ++i) {
      for (int64_t j = 0; j < axis.extent; ++j) {
        plan.a_offsets.push_back(before.a_offsets[i] + j * axis.a);
        plan.b_offsets.push_back(before.b_offsets[i] + j * axis.b);
      }
    }
  }
  plan.c_offsets.clear();
  for (size_t i = 0; i < plan.a_offsets.size(); ++i) {
    plan.c_offsets.push_back(static_cast<int64_t>(i) * plan.spec.batch * plan.spec.m * plan.spec.n);
  }
  return plan;
}

Kernel make_dot_general(const Node& node, const KernelContext& context) {
  std::optional<DotPlan> plan = plan_dot(node, context.threads);
  if (!plan) return {};
  mention_slow_bf16(plan->spec);
  DType a = node.inputs[0].dtype(), b = node.inputs[1].dtype(), c = node.types[0].dtype;
  return [plan = std::move(*plan), a, b, c](const KernelArgs& args) {
    const GemmSpec& spec = plan.spec;
    for (size_t i = 0; i < plan.a_offsets.size(); ++i) {
      GemmOutput out{args.outputs[0] + plan.c_offsets[i] * size_of(c), c, spec.n, spec.m * spec.n};
      gemm(spec, args.inputs[0] + plan.a_offsets[i] * size_of(a),
           args.inputs[1] + plan.b_offsets[i] * size_of(b), out);
    }
  };
}

}  // namespace centavo::cpu
