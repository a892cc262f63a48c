// Lines of text.
#include "centavo/data/classes.h"

#include <fmt/ranges.h>

#include "centavo/base/error.h"
#include "centavo/base/text.h"
#include "centavo/io/file.h"

namespace centavo::data {

void write_classes(const std::filesystem::path& path, const std::vector<std::string>& names) {
  io::atomic_write_file(path, fmt::format("{}\n", fmt::join(names, "\n")));
}

std::vector<std::string> read_classes(const std::filesystem::path& path) {
  const std::string text = io::read_file(path);
  std::vector<std::string> names;
  for (const std::string& line : split(trim(text), '\n')) {
    names.emplace_back(trim(line));
    if (names.back().empty())
      throw Error("classes", "{}: line {} is empty; each holds one class's name", path.string(),
                  names.size());
  }
  return names;
}

}  // namespace centavo::data
