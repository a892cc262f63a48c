// Attrs: an op's static parameters by name. Ordered, comparable, hashable and printable.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "centavo/base/dtype.h"
#include "centavo/ir/literal.h"

namespace centavo {

struct Graph;

using AttrValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>,
                               std::shared_ptr<const Literal>, std::shared_ptr<const Graph>>;

class Attrs {
 public:
  Attrs& set(std::string_view name, bool value) { return put(name, value); }
  Attrs& set(std::string_view name, int value) { return put(name, int64_t{value}); }
  Attrs& set(std::string_view name, int64_t value) { return put(name, value); }
  Attrs& set(std::string_view name, double value) { return put(name, value); }
  Attrs& set(std::string_view name, const char* value) { return put(name, std::string(value)); }
  Attrs& set(std::string_view name, std::string value) { return put(name, std::move(value)); }
  Attrs& set(std::string_view name, DType value) { return put(name, std::string(name_of(value))); }
  Attrs& set(std::string_view name, std::vector<int64_t> value) {
    return put(name, std::move(value));
  }
  Attrs& set(std::string_view name, std::shared_ptr<const Literal> value) {
    return put(name, std::move(value));
  }
  Attrs& set(std::string_view name, std::shared_ptr<const Graph> value) {
    return put(name, std::move(value));
  }

  bool has(std::string_view name) const { return find(name) != nullptr; }
  // Each CHECKs that the attribute is there and of that kind.
  bool flag(std::string_view name) const { return get<bool>(name); }
  int64_t integer(std::string_view name) const { return get<int64_t>(name); }
  double real(std::string_view name) const { return get<double>(name); }
  const std::string& text(std::string_view name) const { return get<std::string>(name); }
  DType dtype(std::string_view name) const { return dtype_from_name(text(name)); }
  const std::vector<int64_t>& ints(std::string_view name) const {
    return get<std::vector<int64_t>>(name);
  }
  const Literal& literal(std::string_view name) const {
    return *get<std::shared_ptr<const Literal>>(name);
  }
  const Graph& graph(std::string_view name) const {
    return *get<std::shared_ptr<const Graph>>(name);
  }

  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  size_t size() const { return values_.size(); }

 private:
  Attrs& put(std::string_view name, AttrValue value);
  const AttrValue* find(std::string_view name) const;
  template <class T>
  const T& get(std::string_view name) const {
    const AttrValue* value = find(name);
    CENTAVO_CHECK(value && std::holds_alternative<T>(*value), "attribute '{}'", name);
    return std::get<T>(*value);
  }

  std::vector<std::pair<std::string, AttrValue>> values_;  // sorted by name
};

// "axis=1, dims=[0,2]"; graphs and large literals by size only.
std::string to_string(const Attrs& attrs);
// Of the contents, graphs included; equal attributes hash alike in every process.
uint64_t hash_of(const Attrs& attrs);

// Mixes `value` into `seed`; the library's one way of combining hashes (stable across processes).
uint64_t hash_combine(uint64_t seed, uint64_t value);
uint64_t hash_bytes(uint64_t seed, const void* data, size_t size);

}  // namespace centavo
