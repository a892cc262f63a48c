// Typed reading of TOML tables in which every key must be known: a misspelt key is an error with
// its line and the nearest name, never silently ignored.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <toml++/toml.h>
#include <vector>

namespace centavo::io {

// One table. Each accessor marks its key as read; finish() throws if an unread key is left.
// All errors are Error("file.toml:line", ...).
class TomlTable {
 public:
  TomlTable(const toml::table& table, std::string file) : table_(&table), file_(std::move(file)) {}

  bool has(std::string_view key) const { return table_->contains(key); }
  std::string text(std::string_view key);
  std::string text_or(std::string_view key, std::string fallback);
  // Finite and at least `minimum`.
  double number(std::string_view key, double minimum = 0);
  double number_or(std::string_view key, double fallback, double minimum = 0);
  int integer(std::string_view key, int minimum = 0);
  int integer_or(std::string_view key, int fallback, int minimum = 0);
  bool flag_or(std::string_view key, bool fallback);
  std::vector<double> numbers(std::string_view key);
  std::vector<std::string> texts_or_empty(std::string_view key);
  // A text, number or truth value, or a list of them, each as a command line would spell it.
  std::vector<std::string> words(std::string_view key);
  // An absent table or array reads as an empty one.
  TomlTable table(std::string_view key);
  std::vector<TomlTable> tables(std::string_view key);
  // Keys in the file's order of appearance (sorted by name, as TOML tables are unordered).
  std::vector<std::string> keys() const;

  void finish() const;
  // "file.toml:12": for errors of the caller's own.
  std::string where() const;
  std::string where(std::string_view key) const;

 private:
  const toml::node* find(std::string_view key);
  const toml::node& require(std::string_view key);
  std::string where(const toml::node& node) const;

  const toml::table* table_;
  std::string file_;
  std::vector<std::string> read_;
};

// Parses a file; throws Error with line and column when it is not TOML.
class TomlFile {
 public:
  explicit TomlFile(const std::filesystem::path& path);
  TomlTable root() const { return {table_, name_}; }

 private:
  std::string name_;
  toml::table table_;
};

}  // namespace centavo::io
