// TOML files of plain keys, as command lines are kept: one "key = value" a line.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace centavo::io {

struct TomlSetting {
  std::string key;
  std::vector<std::string> words;
  bool list = false;  // false: one word
};

// Words that spell a number, or true or false, are written bare, others in quotes.
std::string toml_text(std::span<const TomlSetting> settings);

}  // namespace centavo::io
