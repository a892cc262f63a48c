// Keeps imports as TOML in the user's directory, in the same form as the shipped files.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "centavo/base/error.h"
#include "centavo/fleet/import.h"
#include "centavo/io/file.h"

namespace centavo::fleet {
namespace {

// TOML basic strings share JSON's escapes for what can occur in names and sources.
std::string toml_text(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) result += c;
  }
  return result + '"';
}

using SnapshotKey = std::tuple<std::string, std::string, std::string, PriceKind, std::string>;
SnapshotKey key_of(const Price& p) {
  return {p.source.date, p.region, p.zone, p.kind, p.source.text};
}

std::string prices_toml(const PriceBook& book) {
  std::map<SnapshotKey, std::map<std::string, const Price*>> snapshots;
  for (const Price& price : book.all()) snapshots[key_of(price)][price.instance] = &price;
  std::string text = "# Imported by `centavo prices import`.\n";
  for (const auto& [key, prices] : snapshots) {
    const Price& first = *prices.begin()->second;
    text += fmt::format("\n[[snapshot]]\ndate = {}\nregion = {}\nkind = {}\nsource = {}\n",
                        toml_text(first.source.date), toml_text(first.region),
                        toml_text(name_of(first.kind)), toml_text(first.source.text));
    if (!first.zone.empty()) text += fmt::format("zone = {}\n", toml_text(first.zone));
    text += "[snapshot.prices]\n";
    for (const auto& [name, price] : prices)
      text += fmt::format("{} = {}\n", toml_text(name), price->usd_per_hour);
  }
  return text;
}

// The catalogue's chip of that name with about that memory (two kinds of A100 share their name), or
// "".
std::string known_chip(const TypeSpec& spec, const Catalogue& catalogue) {
  for (const Chip& chip : catalogue.chips()) {
    const bool named =
        chip.name.starts_with(spec.chip) ||
        std::find(chip.aliases.begin(), chip.aliases.end(), spec.chip) != chip.aliases.end();
    const double gib = chip.memory_bytes / (1024.0 * 1024 * 1024);
    if (named && (spec.chip_memory_gib == 0 || std::abs(gib / spec.chip_memory_gib - 1) < 0.1))
      return chip.name;
  }
  return "";
}

std::string type_toml(const TypeSpec& spec, const Catalogue& catalogue) {
  const size_t dot = spec.name.find('.');
  if (dot == spec.name.npos)
    throw Error("prices import", "'{}' is not an instance type", spec.name);
  std::string text = fmt::format("\n[[family]]\nname = {}\n", toml_text(spec.name.substr(0, dot)));
  if (spec.chips > 0) {
    const std::string chip = known_chip(spec, catalogue);
    text += chip.empty() ? fmt::format("unknown_chip = {}\n", toml_text(spec.chip))
                         : fmt::format("chip = {}\n", toml_text(chip));
  }
  return text + fmt::format(
                    "sizes = [{{name = {}, vcpus = {}, cores = {}, memory_gib = {}{}, net_gbps = "
                    "{}{}}}]\n",
                    toml_text(spec.name.substr(dot + 1)), spec.vcpus, spec.cores, spec.memory_gib,
                    spec.chips > 0 ? fmt::format(", chips = {}", spec.chips) : "",
                    spec.network_gbps, spec.efa ? ", efa = true" : "");
}

}  // namespace

ImportSummary keep_import(const Imported& imported, const Catalogue& catalogue,
                          const std::filesystem::path& dir) {
  ImportSummary summary;
  summary.prices = imported.prices.size();
  summary.types = imported.types.size();
  const auto known = [&](const std::string& name) {
    return std::any_of(catalogue.instances().begin(), catalogue.instances().end(),
                       [&](const Instance& instance) { return instance.name == name; });
  };
  std::set<std::string> unknown;
  for (const Price& price : imported.prices)
    if (!known(price.instance)) unknown.insert(price.instance);
  std::filesystem::create_directories(dir);
  if (!imported.prices.empty()) {
    PriceBook book =
        std::filesystem::exists(dir / "prices.toml") ? PriceBook::load(dir) : PriceBook();
    for (const Price& price : imported.prices) book.add(price);
    io::atomic_write_file(dir / "prices.toml", prices_toml(book));
  }
  std::string types;
  for (const TypeSpec& spec : imported.types) {
    if (known(spec.name)) continue;
    unknown.insert(spec.name);
    types += type_toml(spec, catalogue);
  }
  if (!types.empty()) {
    const std::filesystem::path path = dir / "instances.toml";
    std::string text = std::filesystem::exists(path)
                           ? io::read_file(path)
                           : "# Imported by `centavo prices import`.\nsource = \"aws ec2 "
                             "describe-instance-types\"\ndate "
                             "= \"2026\"\n";
    io::atomic_write_file(path, text + types);
  }
  summary.unknown.assign(unknown.begin(), unknown.end());
  return summary;
}

}  // namespace centavo::fleet
