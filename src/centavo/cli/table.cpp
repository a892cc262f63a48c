// Layout of tables.
#include "centavo/cli/table.h"

#include <algorithm>

#include "centavo/base/error.h"

namespace centavo::cli {

void Table::add(std::vector<std::string> row) {
  CENTAVO_CHECK(row.size() == columns_.size());
  rows_.push_back(std::move(row));
}

std::string Table::to_string() const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t width = columns_[c].title.size();
    for (const auto& row : rows_) width = std::max(width, row[c].size());
    widths.push_back(width);
  }
  std::string text;
  auto line = [&](auto cell) {
    std::string row;
    for (size_t c = 0; c < columns_.size(); ++c) {
      row += columns_[c].align == Align::kRight ? fmt::format("{:>{}}", cell(c), widths[c])
                                                : fmt::format("{:<{}}", cell(c), widths[c]);
      row += "  ";
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  };
  line([&](size_t c) { return columns_[c].title; });
  for (const auto& row : rows_) line([&](size_t c) { return row[c]; });
  return text;
}

}  // namespace centavo::cli
