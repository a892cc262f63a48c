// Tables behind dtype.h.
#include "centavo/base/dtype.h"

#include <array>
#include <string>
#include <vector>

#include "centavo/base/text.h"

namespace centavo {
namespace {

struct Info {
  DType dtype;
  std::string_view name;
  int64_t size;
};
constexpr std::array kInfos = {Info{DType::kBool, "bool", 1}, Info{DType::kU8, "u8", 1},
                               Info{DType::kI8, "i8", 1},     Info{DType::kI32, "i32", 4},
                               Info{DType::kU32, "u32", 4},   Info{DType::kI64, "i64", 8},
                               Info{DType::kU64, "u64", 8},   Info{DType::kBF16, "bf16", 2},
                               Info{DType::kF32, "f32", 4},   Info{DType::kF64, "f64", 8}};

}  // namespace

int64_t size_of(DType dtype) {
  return kInfos[static_cast<size_t>(dtype)].size;
}

std::string_view name_of(DType dtype) {
  return kInfos[static_cast<size_t>(dtype)].name;
}

DType dtype_from_name(std::string_view name) {
  std::vector<std::string> names;
  for (const Info& info : kInfos) {
    if (info.name == name) return info.dtype;
    names.emplace_back(info.name);
  }
  throw Error("dtype", "unknown dtype '{}'{}", name, did_you_mean(name, names));
}

}  // namespace centavo
