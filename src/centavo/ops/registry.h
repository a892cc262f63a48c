// Declares op_<name> for every line of list.def; for the files that define and record ops.
#pragma once

#include "centavo/ir/op.h"

namespace centavo {

#define CENTAVO_OP(name) extern const Op op_##name;
#include "centavo/ops/list.def"
#undef CENTAVO_OP

}  // namespace centavo
