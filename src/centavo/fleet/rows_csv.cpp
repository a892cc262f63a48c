// Training rows from CSV files, by libfccp.
#include <charconv>
#include <libfccp/csv.h>

#include "centavo/base/error.h"
#include "centavo/base/text.h"
#include "centavo/fleet/rows.h"

namespace centavo::fleet {
namespace {

// 0 for an empty cell; throws Error on anything but a number.
double number(const std::string& text, std::string_view column, const std::string& where) {
  if (trim(text).empty()) return 0;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    throw Error(where, "'{}' is not a number in column {}", text, column);
  return value;
}

}  // namespace

std::vector<TrainingRow> read_csv_rows(const std::filesystem::path& path) {
  using Reader = ::io::CSVReader<17, ::io::trim_chars<' '>, ::io::double_quote_escape<',', '"'>,
                                 ::io::throw_on_overflow, ::io::single_line_comment<'#'>>;
  std::vector<TrainingRow> rows;
  try {
    Reader in(path.string());
    in.read_header(::io::ignore_extra_column | ::io::ignore_missing_column, "id", "model",
                   "image_or_seq", "device", "instance", "devices", "batch_per_device", "precision",
                   "optimizer", "samples_per_second", "input", "loader_workers", "accumulate",
                   "steps_per_launch", "software", "date", "source");
    for (std::string_view column :
         {"model", "devices", "precision", "optimizer", "samples_per_second"})
      if (!in.has_column(std::string(column)))
        throw Error(path.filename().string(),
                    "not a table of training rows: there is no column '{}'", column);
    TrainingRow row;
    std::string size, devices, batch, rate, loaders, accumulate, launch;
    while (in.read_row(row.id, row.model, size, row.chip, row.instance, devices, batch,
                       row.precision, row.optimizer, rate, row.input, loaders, accumulate, launch,
                       row.software, row.date, row.source)) {
      const std::string where = fmt::format("{}:{}", path.filename().string(), in.get_file_line());
      row.samples_per_second = number(rate, "samples_per_second", where);
      if (row.samples_per_second == 0) continue;
      row.size = static_cast<int>(number(size, "image_or_seq", where));
      row.devices = std::max(1, static_cast<int>(number(devices, "devices", where)));
      row.batch = static_cast<int>(number(batch, "batch_per_device", where));
      row.loader_workers = static_cast<int>(number(loaders, "loader_workers", where));
      row.accumulate = std::max(1, static_cast<int>(number(accumulate, "accumulate", where)));
      row.steps_per_launch =
          std::max(1, static_cast<int>(number(launch, "steps_per_launch", where)));
      rows.push_back(row);
    }
  } catch (const ::io::error::base& e) {
    throw Error(path.filename().string(), "{}", e.what());
  }
  return rows;
}

}  // namespace centavo::fleet
