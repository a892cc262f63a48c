// The four forms of a table.
#include "centavo/fleet/result_table.h"

#include <algorithm>

#include "centavo/base/error.h"
#include "centavo/base/text.h"
#include "centavo/io/csv.h"
#include "centavo/io/json.h"

namespace centavo::fleet {
namespace {

bool is_number(const Cell& cell) {
  return std::holds_alternative<double>(cell.value);
}

// Columns on a terminal, counted in code points: "±" takes one.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

TableFormat table_format_from_name(std::string_view name) {
  static const std::vector<std::string> kNames = {"table", "csv", "json", "markdown"};
  auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end())
    throw Error("--format", "unknown format '{}'{}", name, did_you_mean(name, kNames));
  return static_cast<TableFormat>(found - kNames.begin());
}

void ResultTable::add(std::vector<Cell> row) {
  CENTAVO_CHECK(row.size() == columns_.size(), "{} cells for {} columns", row.size(),
                columns_.size());
  rows_.push_back(std::move(row));
}

std::string ResultTable::to_string(TableFormat format) const {
  switch (format) {
    case TableFormat::kTable:
      return text();
    case TableFormat::kCsv:
      return csv();
    case TableFormat::kJson:
      return json();
    case TableFormat::kMarkdown:
      return markdown();
  }
  CENTAVO_UNREACHABLE();
}

std::string ResultTable::text() const {
  std::vector<size_t> widths;
  std::vector<bool> right;
  for (size_t c = 0; c < columns_.size(); ++c) {
    widths.push_back(width_of(columns_[c].title));
    right.push_back(std::any_of(rows_.begin(), rows_.end(),
                                [&](const auto& row) { return is_number(row[c]); }));
    for (const auto& row : rows_) widths[c] = std::max(widths[c], width_of(row[c].shown));
  }
  std::string text;
  const auto line = [&](auto shown) {
    std::string out;
    for (size_t c = 0; c < columns_.size(); ++c) {
      const std::string cell = shown(c), space(widths[c] - width_of(cell), ' ');
      out += (c ? "  " : "") + (right[c] ? space + cell : cell + space);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    text += out + "\n";
  };
  line([&](size_t c) { return columns_[c].title; });
  for (const auto& row : rows_) line([&](size_t c) { return row[c].shown; });
  return text;
}

std::string ResultTable::csv() const {
  std::vector<io::CsvCell> cells;
  for (const Column& column : columns_) cells.emplace_back(column.key);
  std::string text = io::csv_row(cells);
  for (const auto& row : rows_) {
    cells.clear();
    for (const Cell& cell : row) {
      if (const double* number = std::get_if<double>(&cell.value))
        cells.emplace_back(*number);
      else if (const std::string* words = std::get_if<std::string>(&cell.value))
        cells.emplace_back(*words);
      else
        cells.emplace_back();
    }
    text += io::csv_row(cells);
  }
  return text;
}

std::string ResultTable::json() const {
  io::Json list = io::Json::array();
  for (const auto& row : rows_) {
    io::Json object;
    for (size_t c = 0; c < columns_.size(); ++c) {
      io::Json& value = object[columns_[c].key];
      if (const double* number = std::get_if<double>(&row[c].value))
        value = *number;
      else if (const std::string* words = std::get_if<std::string>(&row[c].value))
        value = *words;
    }
    list.push_back(std::move(object));
  }
  return list.dump(2) + "\n";
}

std::string ResultTable::markdown() const {
  std::string text = "|", rule = "|";
  for (size_t c = 0; c < columns_.size(); ++c) {
    const bool number =
        std::any_of(rows_.begin(), rows_.end(), [&](const auto& row) { return is_number(row[c]); });
    text += " " + columns_[c].title + " |";
    rule += number ? " ---: |" : " --- |";
  }
  text += "\n" + rule + "\n";
  for (const auto& row : rows_) {
    text += "|";
    for (const Cell& cell : row) {
      std::string shown;
      for (char ch : cell.shown) shown += ch == '|' ? "\\|" : std::string(1, ch);
      text += " " + shown + " |";
    }
    text += "\n";
  }
  return text;
}

}  // namespace centavo::fleet
