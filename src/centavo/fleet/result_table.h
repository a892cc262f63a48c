// ResultTable: rows for people and for programs: a text table, CSV, JSON or Markdown.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace centavo::fleet {

enum class TableFormat { kTable, kCsv, kJson, kMarkdown };
TableFormat table_format_from_name(
    std::string_view name);  // table, csv, json, markdown; throws Error

// A value, and how people read it ("" in a text table for none).
struct Cell {
  std::variant<std::monostate, double, std::string> value;
  std::string shown;

  Cell() = default;
  Cell(std::string text)
      : value(text), shown(std::move(text)) {}         // NOLINT: cells are made in lists
  Cell(const char* text) : Cell(std::string(text)) {}  // NOLINT
  Cell(double number, std::string shown_as) : value(number), shown(std::move(shown_as)) {}
};

class ResultTable {
 public:
  struct Column {
    std::string title;  // for people: SEC/STEP
    std::string key;    // for programs: step_seconds
  };
  explicit ResultTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // As many cells as columns.
  void add(std::vector<Cell> row);
  size_t size() const { return rows_.size(); }
  // Ends with a newline. Numbers stand to the right in text; CSV has a header of keys; JSON is a
  // list of objects.
  std::string to_string(TableFormat format) const;

 private:
  std::string text() const;
  std::string csv() const;
  std::string json() const;
  std::string markdown() const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace centavo::fleet
