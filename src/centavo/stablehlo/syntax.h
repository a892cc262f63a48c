// A module as written: the tree between StableHLO's text and Centavo's graph. Names are those of
// the text, which must outlive the tree; nothing is checked but the syntax.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "centavo/base/shape.h"

namespace centavo::stablehlo {

// A type; `tensor` is empty for those that Centavo has no values of (f16, complex, tokens, ...).
struct Type {
  std::optional<TensorType> tensor;
  std::string_view text;
  size_t at = 0;
};

struct Attribute;
using Dictionary = std::map<std::string, Attribute, std::less<>>;
using AttributeList = std::vector<Attribute>;

// dense<content> : type, decoded when an op wants it.
struct DenseText {
  std::string_view content;
  size_t content_at = 0;
  Type type;
};
// #stablehlo<precision HIGHEST>: "HIGHEST"; @check.expect_eq: "check.expect_eq"
struct Keyword {
  std::string_view text;
};
struct UnitAttribute {};

struct Attribute {
  std::variant<UnitAttribute, bool, int64_t, double, std::string, Keyword, DenseText,
               std::vector<int64_t>, AttributeList, Dictionary>
      value;
  size_t at = 0;
};

// %name or one of several results, %name#index.
struct ValueName {
  std::string_view name;
  int64_t index = 0;
  size_t at = 0;
};
struct ResultName {
  std::string_view name;
  int64_t count = 1;
};
struct Argument {
  std::string_view name;
  Type type;
  Dictionary attributes;
};

struct Operation;
// One block: StableHLO has no others.
struct Region {
  std::vector<Argument> arguments;
  std::vector<Operation> body;
};

struct Operation {
  std::string_view name;  // "stablehlo.add"
  std::vector<ResultName> results;
  std::vector<ValueName> operands;
  Dictionary attributes;  // properties too
  std::vector<Region> regions;
  std::vector<Type> operand_types, result_types;
  size_t at = 0;
};

struct Function {
  std::string_view name;
  std::vector<Argument> arguments;
  std::vector<Type> result_types;
  Region body;
  size_t at = 0;
};

}  // namespace centavo::stablehlo
