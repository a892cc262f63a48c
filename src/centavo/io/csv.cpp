// Formatting and continuing CSV files.
#include "centavo/io/csv.h"

#include "centavo/base/error.h"

namespace centavo::io {
namespace {

std::string to_text(const CsvCell& cell) {
  struct Printer {
    std::string operator()(std::monostate) const { return ""; }
    std::string operator()(int64_t x) const { return fmt::format("{}", x); }
    std::string operator()(double x) const { return fmt::format("{}", x); }
    std::string operator()(const std::string& x) const {
      if (x.find_first_of(",\"\r\n") == std::string::npos) return x;
      std::string quoted = "\"";
      for (char c : x) {
        if (c == '"') quoted += '"';
        quoted += c;
      }
      return quoted + '"';
    }
  };
  return std::visit(Printer{}, cell);
}

std::string header_of(const std::vector<std::string>& columns) {
  return csv_row(std::vector<CsvCell>(columns.begin(), columns.end()));
}

// What to append first: the header to a new file, nothing to one that has it.
std::string opening(const std::filesystem::path& path, const std::vector<std::string>& columns) {
  const std::string header = header_of(columns);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return header;
  const std::string content = read_file(path);
  if (content.empty()) return header;
  if (!content.starts_with(header)) {
    throw Error("csv", "{} has columns '{}', this run writes '{}'; choose another output directory",
                path.string(), content.substr(0, content.find('\n')),
                header.substr(0, header.size() - 1));
  }
  // A row cut short by a crash is ended, so that the next one starts its own line.
  return content.ends_with('\n') ? "" : "\n";
}

}  // namespace

std::string csv_row(std::span<const CsvCell> cells) {
  std::string row;
  for (const CsvCell& cell : cells) {
    if (&cell != &cells.front()) row += ',';
    row += to_text(cell);
  }
  return row + '\n';
}

CsvWriter::CsvWriter(const std::filesystem::path& path, std::vector<std::string> columns)
    : columns_(columns.size()), file_(path) {
  if (std::string text = opening(path, columns); !text.empty()) file_.append(text);
}

void CsvWriter::append(std::span<const CsvCell> row) {
  CENTAVO_CHECK(row.size() == columns_, "{} cells for {} columns", row.size(), columns_);
  file_.append(csv_row(row));
}

}  // namespace centavo::io
