// Expansion from left to right.
#include "centavo/data/braces.h"

#include <charconv>
#include <cstdint>
#include <optional>

#include "centavo/base/error.h"
#include "centavo/base/text.h"

namespace centavo::data {
namespace {

constexpr size_t kMaxNames = 1'000'000;

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// What stands between two braces, as the words it stands for.
std::vector<std::string> words_of(std::string_view inside, std::string_view pattern) {
  const size_t dots = inside.find("..");
  if (dots == inside.npos) return split(inside, ',');
  const std::string_view first = inside.substr(0, dots), last = inside.substr(dots + 2);
  const auto begin = number(first), end = number(last);
  if (!begin || !end || *begin > *end)
    throw Error("shards", "'{{{}}}' in '{}' is no rising range such as {{000000..000009}}", inside,
                pattern);
  if (*end - *begin >= static_cast<int64_t>(kMaxNames))
    throw Error("shards", "'{}' stands for more than {} files", pattern, kMaxNames);
  std::vector<std::string> words;
  for (int64_t i = *begin; i <= *end; ++i) words.push_back(fmt::format("{:0{}}", i, first.size()));
  return words;
}

}  // namespace

std::vector<std::string> expand_braces(std::string_view pattern) {
  std::vector<std::string> names = {""};
  auto append = [&](const std::vector<std::string>& words) {
    if (names.size() * words.size() > kMaxNames)
      throw Error("shards", "'{}' stands for more than {} files", pattern, kMaxNames);
    std::vector<std::string> longer;
    for (const std::string& name : names) {
      for (const std::string& word : words) longer.push_back(name + word);
    }
    names = std::move(longer);
  };
  for (std::string_view rest = pattern; !rest.empty();) {
    const size_t open = rest.find('{');
    append({std::string(rest.substr(0, open))});
    if (open == rest.npos) break;
    const size_t close = rest.find('}', open);
    if (close == rest.npos) throw Error("shards", "'{}' has a brace that is not closed", pattern);
    append(words_of(rest.substr(open + 1, close - open - 1), pattern));
    rest.remove_prefix(close + 1);
  }
  return names;
}

}  // namespace centavo::data
