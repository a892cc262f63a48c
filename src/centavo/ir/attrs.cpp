// Storage, printing and hashing of attributes.
#include "centavo/ir/attrs.h"

#include <algorithm>
#include <bit>
#include <fmt/ranges.h>

#include "centavo/ir/graph.h"

namespace centavo {
namespace {

auto position(auto& values, std::string_view name) {
  return std::lower_bound(values.begin(), values.end(), name,
                          [](const auto& pair, std::string_view n) { return pair.first < n; });
}

std::string print(const Literal& literal) {
  if (literal.is_splat()) return fmt::format("{}", literal.value(0));
  return fmt::format("<{} values>", literal.type().shape.elements());
}

}  // namespace

Attrs& Attrs::put(std::string_view name, AttrValue value) {
  auto at = position(values_, name);
  if (at != values_.end() && at->first == name) {
    at->second = std::move(value);
  } else {
    values_.emplace(at, name, std::move(value));
  }
  return *this;
}

const AttrValue* Attrs::find(std::string_view name) const {
  auto at = position(values_, name);
  return at != values_.end() && at->first == name ? &at->second : nullptr;
}

std::string to_string(const Attrs& attrs) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : attrs) {
    std::string text = std::visit(
        [](const auto& v) -> std::string {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, std::vector<int64_t>>)
            return fmt::format("[{}]", fmt::join(v, ","));
          else if constexpr (std::is_same_v<T, std::shared_ptr<const Literal>>)
            return print(*v);
          else if constexpr (std::is_same_v<T, std::shared_ptr<const Graph>>)
            return fmt::format("<{} nodes>", v->nodes.size());
          else
            return fmt::format("{}", v);
        },
        value);
    parts.push_back(name + "=" + text);
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

uint64_t hash_combine(uint64_t seed, uint64_t value) {
  // The finaliser of MurmurHash3 over the sum: cheap, and every input bit reaches every output bit.
  uint64_t h = seed * 0x9E3779B97F4A7C15u + value;
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccdu;
  h ^= h >> 33;
  h *= 0xc4ceb9fe1a85ec53u;
  return h ^ (h >> 33);
}

uint64_t hash_bytes(uint64_t seed, const void* data, size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  uint64_t h = hash_combine(seed, size);
  for (size_t i = 0; i < size; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + i, std::min<size_t>(8, size - i));
    h = hash_combine(h, word);
  }
  return h;
}

uint64_t hash_of(const Attrs& attrs) {
  uint64_t h = attrs.size();
  for (const auto& [name, value] : attrs) {
    h = hash_bytes(h, name.data(), name.size());
    h = hash_combine(h, value.index());
    h = std::visit(
        [h](const auto& v) -> uint64_t {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, double>)
            return hash_combine(h, std::bit_cast<uint64_t>(v));
          else if constexpr (std::is_integral_v<T>)
            return hash_combine(h, static_cast<uint64_t>(v));
          else if constexpr (std::is_same_v<T, std::string>)
            return hash_bytes(h, v.data(), v.size());
          else if constexpr (std::is_same_v<T, std::vector<int64_t>>)
            return hash_bytes(h, v.data(), v.size() * sizeof(int64_t));
          else if constexpr (std::is_same_v<T, std::shared_ptr<const Literal>>)
            return hash_bytes(hash_combine(h, v->is_splat()), v->data().data(), v->data().size());
          else
            return hash_combine(h, structural_hash(*v));
        },
        value);
  }
  return h;
}

}  // namespace centavo
