// The table of element types and the printing of tensor types.
#include "centavo/stablehlo/types.h"

#include <array>

namespace centavo::stablehlo {
namespace {

struct Element {
  DType dtype;
  std::string_view name;
};
constexpr std::array kElements = {Element{DType::kBool, "i1"},  Element{DType::kU8, "ui8"},
                                  Element{DType::kI8, "i8"},    Element{DType::kI32, "i32"},
                                  Element{DType::kU32, "ui32"}, Element{DType::kI64, "i64"},
                                  Element{DType::kU64, "ui64"}, Element{DType::kBF16, "bf16"},
                                  Element{DType::kF32, "f32"},  Element{DType::kF64, "f64"}};

}  // namespace

std::string_view element_name(DType dtype) {
  for (const Element& e : kElements) {
    if (e.dtype == dtype) return e.name;
  }
  CENTAVO_UNREACHABLE();
}

std::optional<DType> element_from_name(std::string_view name) {
  for (const Element& e : kElements) {
    if (e.name == name) return e.dtype;
  }
  return std::nullopt;
}

std::string type_text(const TensorType& type) {
  std::string text = "tensor<";
  for (int64_t d : type.shape) text += std::to_string(d) + "x";
  return text.append(element_name(type.dtype)) + ">";
}

}  // namespace centavo::stablehlo
