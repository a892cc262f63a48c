#include "centavo/io/toml_writer.h"

#include <fmt/format.h>
#include <regex>

#include "centavo/io/json.h"

namespace centavo::io {
namespace {

std::string value_of(const std::string& word) {
  static const std::regex kBare(R"(true|false|-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?)");
  if (std::regex_match(word, kBare)) return word;
  // A JSON string is a basic string of TOML.
  return Json(word).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string toml_text(std::span<const TomlSetting> settings) {
  std::string text;
  for (const TomlSetting& setting : settings) {
    std::string value;
    for (const std::string& word : setting.words)
      value += (value.empty() ? "" : ", ") + value_of(word);
    text += fmt::format("{} = {}\n", setting.key, setting.list ? "[" + value + "]" : value);
  }
  return text;
}

}  // namespace centavo::io
