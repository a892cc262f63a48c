// TOML reading over toml++.
#include "centavo/io/toml_reader.h"

#include <algorithm>
#include <cmath>

#include "centavo/base/error.h"
#include "centavo/base/text.h"
#include "centavo/io/file.h"

namespace centavo::io {
namespace {

// Empty for a table, a list or a date.
std::string word_of(const toml::node& node) {
  if (node.is_string()) return node.as_string()->get();
  if (node.is_boolean()) return node.as_boolean()->get() ? "true" : "false";
  if (node.is_integer()) return std::to_string(node.as_integer()->get());
  if (node.is_floating_point()) return fmt::format("{}", node.as_floating_point()->get());
  return {};
}

}  // namespace

const toml::node* TomlTable::find(std::string_view key) {
  read_.emplace_back(key);
  return table_->get(key);
}

const toml::node& TomlTable::require(std::string_view key) {
  const toml::node* node = find(key);
  if (node == nullptr) throw Error(where(), "'{}' is missing", key);
  return *node;
}

std::string TomlTable::where(const toml::node& node) const {
  return fmt::format("{}:{}", file_, node.source().begin.line);
}

std::string TomlTable::where() const {
  return where(*table_);
}

std::string TomlTable::where(std::string_view key) const {
  const toml::node* node = table_->get(key);
  return where(node != nullptr ? *node : *table_);
}

std::string TomlTable::text(std::string_view key) {
  const toml::node& node = require(key);
  if (!node.is_string()) throw Error(where(node), "'{}' must be a text in quotes", key);
  return node.as_string()->get();
}

std::string TomlTable::text_or(std::string_view key, std::string fallback) {
  if (has(key)) return text(key);
  read_.emplace_back(key);
  return fallback;
}

double TomlTable::number(std::string_view key, double minimum) {
  const toml::node& node = require(key);
  std::optional<double> value = node.value<double>();
  if (!node.is_number() || !value || !std::isfinite(*value) || *value < minimum)
    throw Error(where(node), "'{}' must be a number of at least {}", key, minimum);
  return *value;
}

double TomlTable::number_or(std::string_view key, double fallback, double minimum) {
  if (has(key)) return number(key, minimum);
  read_.emplace_back(key);
  return fallback;
}

int TomlTable::integer(std::string_view key, int minimum) {
  double value = number(key, minimum);
  if (value != std::floor(value) || value > 1e9)
    throw Error(where(), "'{}' must be a whole number, not {}", key, value);
  return static_cast<int>(value);
}

int TomlTable::integer_or(std::string_view key, int fallback, int minimum) {
  if (has(key)) return integer(key, minimum);
  read_.emplace_back(key);
  return fallback;
}

bool TomlTable::flag_or(std::string_view key, bool fallback) {
  const toml::node* node = find(key);
  if (node == nullptr) return fallback;
  if (!node->is_boolean()) throw Error(where(*node), "'{}' must be true or false", key);
  return node->as_boolean()->get();
}

std::vector<double> TomlTable::numbers(std::string_view key) {
  const toml::node& node = require(key);
  std::vector<double> values;
  if (const toml::array* array = node.as_array())
    for (const toml::node& element : *array)
      values.push_back(element.value<double>().value_or(NAN));
  if (values.empty() ||
      std::any_of(values.begin(), values.end(), [](double v) { return !std::isfinite(v); }))
    throw Error(where(node), "'{}' must be a list of numbers", key);
  return values;
}

std::vector<std::string> TomlTable::texts_or_empty(std::string_view key) {
  std::vector<std::string> values;
  const toml::node* node = find(key);
  if (node == nullptr) return values;
  const toml::array* array = node->as_array();
  if (array == nullptr) throw Error(where(*node), "'{}' must be a list of texts", key);
  for (const toml::node& element : *array) {
    if (!element.is_string()) throw Error(where(element), "'{}' must be a list of texts", key);
    values.push_back(element.as_string()->get());
  }
  return values;
}

std::vector<std::string> TomlTable::words(std::string_view key) {
  const toml::node& node = require(key);
  const toml::array* array = node.as_array();
  std::vector<std::string> values;
  if (array == nullptr) {
    values.push_back(word_of(node));
  } else {
    for (const toml::node& element : *array) values.push_back(word_of(element));
  }
  if (!node.is_string() && std::ranges::find(values, "") != values.end())
    throw Error(where(node), "'{}' must be a value or a list of values", key);
  return values;
}

TomlTable TomlTable::table(std::string_view key) {
  static const toml::table kEmpty;
  const toml::node* node = find(key);
  if (node == nullptr) return {kEmpty, file_};
  if (!node->is_table()) throw Error(where(*node), "'{}' must be a table", key);
  return {*node->as_table(), file_};
}

std::vector<TomlTable> TomlTable::tables(std::string_view key) {
  std::vector<TomlTable> result;
  const toml::node* node = find(key);
  if (node == nullptr) return result;
  const toml::array* array = node->as_array();
  if (array == nullptr) throw Error(where(*node), "'{}' must be a list of tables", key);
  for (const toml::node& element : *array) {
    if (!element.is_table()) throw Error(where(element), "'{}' must be a list of tables", key);
    result.emplace_back(*element.as_table(), file_);
  }
  return result;
}

std::vector<std::string> TomlTable::keys() const {
  std::vector<std::string> names;
  for (const auto& [key, node] : *table_) names.emplace_back(key.str());
  return names;
}

void TomlTable::finish() const {
  for (const auto& [key, node] : *table_)
    if (std::find(read_.begin(), read_.end(), key.str()) == read_.end())
      throw Error(where(node), "unknown key '{}'{}", key.str(), did_you_mean(key.str(), read_));
}

TomlFile::TomlFile(const std::filesystem::path& path) : name_(path.filename().string()) {
  const std::string text = read_file(path);
  try {
    table_ = toml::parse(text, path.string());
  } catch (const toml::parse_error& e) {
    throw Error(fmt::format("{}:{}:{}", name_, e.source().begin.line, e.source().begin.column),
                "not valid TOML: {}", e.description());
  }
}

}  // namespace centavo::io
