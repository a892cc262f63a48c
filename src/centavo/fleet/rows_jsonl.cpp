// Training rows from JSON lines, as `centavo bench --record` appends them.
#include "centavo/base/error.h"
#include "centavo/base/text.h"
#include "centavo/fleet/rows.h"
#include "centavo/io/file.h"
#include "centavo/io/json.h"

namespace centavo::fleet {
namespace {

template <class T>
T get(const nlohmann::json& object, const char* key, T fallback, const std::string& where) {
  auto found = object.find(key);
  if (found == object.end() || found->is_null()) return fallback;
  try {
    return found->get<T>();
  } catch (const nlohmann::json::exception&) {
    throw Error(where, "'{}' has the wrong type", key);
  }
}

}  // namespace

std::vector<TrainingRow> read_jsonl_rows(const std::filesystem::path& path) {
  std::vector<TrainingRow> rows;
  int line = 0;
  for (const std::string& text : split(io::read_file(path), '\n')) {
    const std::string where = fmt::format("{}:{}", path.filename().string(), ++line);
    if (trim(text).empty()) continue;
    const nlohmann::json object = io::parse_json(text, where);
    if (!object.is_object()) throw Error(where, "not a JSON object");
    TrainingRow row;
    row.id =
        get<std::string>(object, "id", fmt::format("{}:{}", path.filename().string(), line), where);
    row.model = get<std::string>(object, "model", "", where);
    row.batch = get<int>(object, "batch_size", 0, where);
    row.precision = get<std::string>(object, "precision", "", where);
    row.optimizer = get<std::string>(object, "optimizer", "", where);
    row.samples_per_second = get<double>(object, "samples_per_second", 0, where);
    if (row.model.empty() || row.precision.empty() || row.optimizer.empty() || row.batch < 1 ||
        !(row.samples_per_second > 0))
      throw Error(where,
                  "not a recorded bench: it needs model, batch_size, precision, optimizer and "
                  "samples_per_second");
    row.size = get<int>(object, "image_size", 0, where);
    row.chip = get<std::string>(object, "chip", "", where);
    row.instance = get<std::string>(object, "instance", "", where);
    row.devices = get<int>(object, "devices", 1, where);
    row.input = get<std::string>(object, "input", "", where);
    row.loader_workers = get<int>(object, "loader_workers", 0, where);
    row.accumulate = get<int>(object, "accumulate", 1, where);
    row.software = get<std::string>(object, "software", "", where);
    row.date = get<std::string>(object, "date", "", where);
    row.source = get<std::string>(object, "source", "measured here", where);
    rows.push_back(std::move(row));
  }
  if (rows.empty()) throw Error(path.filename().string(), "holds no rows");
  return rows;
}

void append_jsonl_row(const std::filesystem::path& path, const TrainingRow& row) {
  io::Json object = {{"model", row.model},         {"image_size", row.size},
                     {"chip", row.chip},           {"devices", row.devices},
                     {"batch_size", row.batch},    {"precision", row.precision},
                     {"optimizer", row.optimizer}, {"samples_per_second", row.samples_per_second},
                     {"input", row.input},         {"loader_workers", row.loader_workers},
                     {"software", row.software},   {"date", row.date}};
  if (!row.instance.empty()) object["instance"] = row.instance;
  io::JsonlWriter(path).append(object);
}

}  // namespace centavo::fleet
