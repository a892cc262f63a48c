// Puts a comparison's figures into the page's template.
#include "centavo/fleet/report.h"

#include "centavo/base/error.h"
#include "centavo/fleet/data_dir.h"
#include "centavo/io/file.h"
#include "centavo/io/json.h"

namespace centavo::fleet {
namespace {

// Where the seconds of a predicted step go, on the slowest path; they add up to the step.
io::Json parts_of(const CompareRow& row) {
  const SimulatedStep& parts = row.prediction.parts;
  const DeviceTimes& device = row.prediction.device;
  const double scale = device.total() > 0 ? parts.compute / device.total() : 0;
  return {{"input", parts.input},
          {"launch", parts.launch + parts.copy + scale * device.gaps},
          {"compute", scale * device.compute_bound},
          {"memory", scale * device.memory_bound},
          {"network", parts.network}};
}

io::Json row_of(const CompareRow& row) {
  io::Json json = {
      {"instance", row.instance}, {"chips", row.chips},       {"count", row.count},
      {"workers", row.workers},   {"seconds", row.seconds},   {"rate", row.samples_per_second},
      {"measured", row.measured}, {"source", source_of(row)}, {"bound", row.bound},
      {"warning", row.warning},   {"cheapest", row.cheapest}, {"fastest", row.fastest},
      {"pareto", row.pareto}};
  if (row.price) {
    json["hour"] = row.usd_per_hour();
    json["million"] = row.usd_per_million();
    json["price"] = describe(*row.price);
    json["weak"] = row.price->weak;
  }
  if (!row.measured) json["parts"] = parts_of(row);
  return json;
}

}  // namespace

std::string report_html(const Comparison& comparison) {
  io::Json json = {{"title", comparison.title},
                   {"rows", io::Json::array()},
                   {"refused", io::Json::array()},
                   {"assumptions", comparison.assumptions}};
  for (const CompareRow& row : comparison.rows) json["rows"].push_back(row_of(row));
  for (const Refusal& refusal : comparison.refused)
    json["refused"].push_back({{"instance", refusal.instance}, {"why", refusal.why}});
  std::string data = json.dump(-1, ' ', true, io::Json::error_handler_t::replace);
  // Inside a script element only "</" could end it.
  for (size_t at = 0; (at = data.find("</", at)) != std::string::npos; at += 3)
    data.replace(at, 2, "<\\/");
  std::string page = io::read_file(data_dir() / "report.html");
  static constexpr std::string_view kPlace = "/*DATA*/null";
  const size_t place = page.find(kPlace);
  if (place == std::string::npos) throw Error("report.html", "the page has no place for its data");
  return page.replace(place, kPlace.size(), data);
}

}  // namespace centavo::fleet
