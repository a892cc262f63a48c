// Sums over a workload's ops.
#include "centavo/fleet/workload.h"

#include <algorithm>

#include "centavo/base/error.h"
#include "centavo/base/text.h"

namespace centavo::fleet {

std::string_view name_of(OpClass op_class) {
  static constexpr std::array<std::string_view, kOpClasses> kNames = {
      "matmul",      "convolution",   "depthwise", "attention",
      "elementwise", "normalization", "embedding", "optimizer"};
  return kNames[static_cast<size_t>(op_class)];
}

std::string_view name_of(InputKind kind) {
  switch (kind) {
    case InputKind::kSynthetic:
      return "synthetic";
    case InputKind::kImages:
      return "images";
    case InputKind::kTokens:
      return "tokens";
  }
  CENTAVO_UNREACHABLE();
}

InputKind input_kind_from_name(std::string_view name) {
  static const std::vector<std::string> kNames = {"synthetic", "images", "tokens"};
  auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end())
    throw Error("fleet", "unknown kind of input '{}'{}", name, did_you_mean(name, kNames));
  return static_cast<InputKind>(found - kNames.begin());
}

double Workload::flops() const {
  double sum = 0;
  for (const OpCost& op : ops) sum += op.flops;
  return sum;
}

double Workload::flops(OpClass op_class) const {
  double sum = 0;
  for (const OpCost& op : ops) sum += op.op_class == op_class ? op.flops : 0;
  return sum;
}

bool Workload::has(OpClass op_class) const {
  return std::any_of(ops.begin(), ops.end(),
                     [=](const OpCost& op) { return op.op_class == op_class; });
}

double Workload::working_set() const {
  double largest = 0;
  for (const OpCost& op : ops)
    if (op.op_class == OpClass::kMatmul) largest = std::max(largest, op.bytes);
  return largest;
}

}  // namespace centavo::fleet
