// Importer: walks functions as written and records them; OpReader: what the importer of one op
// sees. Private to this folder.
#pragma once

#include <unordered_map>

#include "centavo/ir/tensor.h"
#include "centavo/stablehlo/module_parser.h"
#include "centavo/stablehlo/parse.h"

namespace centavo::stablehlo {

using Ints = std::vector<int64_t>;
using Tensors = std::vector<Tensor>;
class Importer;
class Scope;

class OpReader {
 public:
  OpReader(Importer& walk, const Operation& operation, Tensors values, const Scope& scope)
      : importer(walk), op(operation), operands(std::move(values)), scope_(scope) {}

  Importer& importer;
  const Operation& op;
  const Tensors operands;

  const Tensor& operand(size_t i) const;
  const TensorType& result_type(size_t i = 0) const;
  const Region& region(size_t i) const;
  // What region i returns for these arguments.
  Tensors run_region(size_t i, const Tensors& arguments) const;
  // The same of a region of scalars for many at once: arguments and results of one shape.
  Tensors map_region(size_t i, const Tensors& arguments) const;
  void expect_operands(size_t count) const;

  bool has(std::string_view name) const;
  // Each fails with the op's name and place when the attribute is missing or of another kind.
  const Attribute& attribute(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t fallback) const;
  std::string_view keyword(std::string_view name) const;
  const Dictionary& dictionary(std::string_view name) const;
  // A list of integers, however written: [..], array<i64: ..> or dense<..>, each within +-2^31 so
  // that sums and products of two stay in 64 bits.
  Ints ints(std::string_view name) const;
  // `count` integers; all of them `fallback` when the attribute is missing.
  Ints ints(std::string_view name, size_t count, int64_t fallback) const;
  // Of an attribute that is a dictionary.
  Ints ints_of(const Dictionary& entries, std::string_view name) const;
  int64_t integer_of(const Dictionary& entries, std::string_view name) const;
  // Rows of (low, high) of a tensor<count x 2>; zeros when the attribute is missing.
  std::pair<Ints, Ints> padding(size_t count) const;

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    fail_with(fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  [[noreturn]] void unsupported(fmt::format_string<Args...> format, Args&&... args) const {
    unsupported_with(fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  Ints to_ints(const Attribute& attribute, std::string_view name) const;
  [[noreturn]] void fail_with(const std::string& reason) const;
  [[noreturn]] void unsupported_with(const std::string& reason) const;

  const Scope& scope_;
};

struct OpEntry {
  Tensors (*import)(const OpReader&) = nullptr;
  bool elementwise = false;  // works on operands of any one shape
};
// By the full name, "stablehlo.add"; without `import` when the op is unknown.
OpEntry find_importer(std::string_view name);

// The values that names stand for; an inner scope sees the outer ones.
class Scope {
 public:
  explicit Scope(const Scope* outer = nullptr) : outer_(outer) {}
  // False when the name is taken.
  bool define(std::string_view name, Tensors values) {
    return values_.emplace(name, std::move(values)).second;
  }
  const Tensors* find(std::string_view name) const {
    auto at = values_.find(name);
    return at != values_.end() ? &at->second : outer_ ? outer_->find(name) : nullptr;
  }

 private:
  std::unordered_map<std::string_view, Tensors> values_;
  const Scope* outer_;
};

class Importer {
 public:
  Importer(const Source& source, const Module& module) : source_(source), module_(module) {}

  const Source& source() const { return source_; }
  const Module& module() const { return module_; }
  // Throws Error, at `at`, when there is no such function.
  const Function& function(std::string_view name, size_t at) const;
  // What the function returns for these arguments.
  Tensors call(const Function& function, const Tensors& arguments, size_t at);
  // What the region returns; it sees the names of `outer`. With `lanes` it is one of scalars, and
  // every value stands for a tensor of that shape.
  Tensors run_region(const Region& region, const Tensors& arguments, const Scope& outer, size_t at,
                     const Shape* lanes = nullptr);
  // The tensor type of a value; throws Unsupported on types without values here.
  const TensorType& type_of(const Type& type) const;

  void expect(Expectation e) { expectations_.push_back(std::move(e)); }
  const std::vector<Expectation>& expectations() const { return expectations_; }

 private:
  Tensors run_body(const std::vector<Operation>& body, Scope& scope, size_t at);
  Tensors run(const Operation& op, Tensors operands, const Scope& scope);
  Tensors lookup(const Operation& op, const Scope& scope) const;
  void define_arguments(const std::vector<Argument>& parameters, const Tensors& arguments,
                        Scope& scope, size_t at) const;
  bool fits(const Type& declared, const Tensor& value) const;
  void check_types(const Operation& op, std::span<const Type> declared, const Tensors& values,
                   std::string_view what) const;

  const Source& source_;
  const Module& module_;
  const Shape* lanes_ = nullptr;  // of the region of scalars that runs, if one does
  int depth_ = 0;                 // of calls
  int64_t operations_ = 0;        // run so far
  std::vector<Expectation> expectations_;
};

}  // namespace centavo::stablehlo
