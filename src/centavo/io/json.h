// JSON: nlohmann's library under one name, strict reading, and files of one object a line.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "centavo/io/file.h"

namespace centavo::io {

// For writing: keeps its keys in the order they were added.
using Json = nlohmann::ordered_json;

// Parses a whole text; the keys come sorted. Throws Error with `topic` on a syntax error, a key
// that comes twice in one object, or nesting deeper than 64.
nlohmann::json parse_json(std::string_view text, std::string_view topic);

class JsonlWriter {
 public:
  // Continues a file that is there already.
  explicit JsonlWriter(const std::filesystem::path& path) : file_(path) {}
  // A number that is not finite is written as null, which JSON has and NaN it has not.
  void append(const Json& object);

 private:
  AppendFile file_;
};

}  // namespace centavo::io
