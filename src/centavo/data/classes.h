// classes.txt: the names of classes, one a line in label order.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace centavo::data {

void write_classes(const std::filesystem::path& path, const std::vector<std::string>& names);
// Throws Error if the file cannot be read or a line is empty.
std::vector<std::string> read_classes(const std::filesystem::path& path);

}  // namespace centavo::data
