// CSV files that grow a row at a time: timm's summary.csv.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "centavo/io/file.h"

namespace centavo::io {

// Numbers are written in the shortest form that reads back as the same value; std::monostate is an
// empty cell.
using CsvCell = std::variant<std::monostate, int64_t, double, std::string>;

// "1,0.5,cat\n", quoted as RFC 4180 says where a text needs it.
std::string csv_row(std::span<const CsvCell> cells);

class CsvWriter {
 public:
  // Starts the file with the columns' names. A file that is there already is continued if its first
  // line names the same columns (a resumed run); otherwise Error.
  CsvWriter(const std::filesystem::path& path, std::vector<std::string> columns);

  // One cell a column.
  void append(std::span<const CsvCell> row);
  void append(std::initializer_list<CsvCell> row) { append(std::span(row.begin(), row.size())); }

 private:
  size_t columns_;
  AppendFile file_;
};

}  // namespace centavo::io
