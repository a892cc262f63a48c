// The table of all ops.
#include "centavo/ops/registry.h"

#include <algorithm>
#include <array>

namespace centavo {
namespace {

constexpr std::array kOps = {
#define CENTAVO_OP(name) &op_##name,
#include "centavo/ops/list.def"
#undef CENTAVO_OP
};

}  // namespace

std::span<const Op* const> all_ops() {
  return kOps;
}

const Op* find_op(std::string_view name) {
  auto at = std::find_if(kOps.begin(), kOps.end(), [&](const Op* op) { return op->name == name; });
  return at == kOps.end() ? nullptr : *at;
}

}  // namespace centavo
