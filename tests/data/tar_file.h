// Tar archives for tests, written by hand so that they do not depend on what they test.
#pragma once

#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

namespace centavo::data {

inline std::string tar_block(const std::string& name, char type, const std::string& content) {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(100, 7, "0000644");
  header.replace(124, 11, fmt::format("{:011o}", content.size()));
  header.replace(136, 11, "00000000000");
  header.replace(148, 8, "        ");
  header[156] = type;
  header.replace(257, 8, std::string("ustar\00000", 8));
  unsigned sum = 0;
  for (char c : header) sum += static_cast<unsigned char>(c);
  header.replace(148, 7, fmt::format("{:06o}", sum) + std::string(1, '\0'));
  std::string padding((512 - content.size() % 512) % 512, '\0');
  return header + content + padding;
}

// Paths and contents, in order; long paths as GNU tar writes them.
inline std::string tar_file(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string archive;
  for (const auto& [path, content] : files) {
    if (path.size() > 99) archive += tar_block("././@LongLink", 'L', path + std::string(1, '\0'));
    archive += tar_block(path.substr(0, 99), '0', content);
  }
  return archive + std::string(1024, '\0');
}

}  // namespace centavo::data
