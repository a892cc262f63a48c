// Reads and checks the catalogue's TOML files.
#include <algorithm>
#include <set>

#include "centavo/base/error.h"
#include "centavo/base/text.h"
#include "centavo/fleet/catalogue.h"
#include "centavo/fleet/data_dir.h"
#include "centavo/io/toml_reader.h"

namespace centavo::fleet {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr double kGiga = 1e9;

// The member of `names` that a key holds, as its index; throws with the nearest name.
size_t choice(io::TomlTable& table, std::string_view key, std::vector<std::string> names) {
  std::string value = table.text(key);
  auto found = std::find(names.begin(), names.end(), value);
  if (found == names.end())
    throw Error(table.where(), "'{}' cannot be '{}'{}", key, value, did_you_mean(value, names));
  return static_cast<size_t>(found - names.begin());
}

void check_date(const std::string& date, const io::TomlTable& table) {
  static constexpr std::string_view kForm = "dddd-dd-dd";
  bool good = date.size() == 4 || date.size() == 7 || date.size() == 10;
  for (size_t i = 0; good && i < date.size(); ++i)
    good = kForm[i] == '-' ? date[i] == '-' : date[i] >= '0' && date[i] <= '9';
  if (!good) throw Error(table.where(), "date '{}' is not YYYY, YYYY-MM or YYYY-MM-DD", date);
}

Source read_source(io::TomlTable& table, const Source* inherited = nullptr) {
  Source source = inherited ? Source{table.text_or("source", inherited->text),
                                     table.text_or("date", inherited->date)}
                            : Source{table.text("source"), table.text("date")};
  check_date(source.date, table);
  return source;
}

std::array<double, 5> read_rates(io::TomlTable& table, std::string_view key, double unit) {
  std::array<double, 5> rates{};
  io::TomlTable values = table.table(key);
  for (size_t i = 0; i < rates.size(); ++i)
    rates[i] = unit * values.number_or(kNumberFormats[i], 0);
  values.finish();
  return rates;
}

// Reads all [[name]] tables of a file through `read`, which must consume every key.
template <class Read>
void each(const std::filesystem::path& path, std::string_view name, Read read) {
  io::TomlFile file(path);
  io::TomlTable root = file.root();
  for (io::TomlTable& table : root.tables(name)) {
    read(table);
    table.finish();
  }
  root.finish();
}

template <class T>
void insert(std::vector<T>& all, T value, const io::TomlTable& table) {
  for (const T& other : all)
    if (other.name == value.name) throw Error(table.where(), "'{}' appears twice", value.name);
  all.push_back(std::move(value));
}

Chip read_chip(io::TomlTable& table) {
  Chip chip;
  chip.name = table.text("name");
  chip.aliases = table.texts_or_empty("aliases");
  chip.kind = static_cast<ChipKind>(choice(table, "kind", {"neuron", "gpu", "cpu", "other"}));
  chip.workers = table.integer_or("workers", 1, 1);
  chip.flops = read_rates(table, "tflops", 1e12);
  chip.memory_bytes = kGiB * table.number("memory_gib");
  chip.memory_bandwidth = kGiga * table.number_or("memory_gbps", 0);
  chip.sram_bytes = 1024 * 1024 * table.number_or("sram_mib", 0);
  chip.link = table.text_or("link", "");
  chip.no_training = table.text_or("no_training", "");
  chip.source = read_source(table);
  if (chip.no_training.empty() && chip.workers > 1 && chip.link.empty())
    throw Error(table.where(), "chip '{}' holds {} workers and needs a link", chip.name,
                chip.workers);
  return chip;
}

Cpu read_cpu(io::TomlTable& table) {
  Cpu cpu;
  cpu.name = table.text("name");
  cpu.hertz = kGiga * table.number("ghz");
  cpu.per_cycle = read_rates(table, "flops_per_cycle", 1);
  cpu.socket_cores = table.integer("socket_cores", 1);
  cpu.socket_bandwidth = kGiga * table.number("socket_gbps");
  cpu.source = read_source(table);
  return cpu;
}

// A processor as the chip that a CPU-only instance trains on: its cores' part of the socket.
Chip chip_of(const Cpu& cpu, int cores, double memory_bytes) {
  Chip chip;
  chip.name = cpu.name;
  chip.kind = ChipKind::kCpu;
  for (size_t i = 0; i < chip.flops.size(); ++i)
    chip.flops[i] = cpu.per_cycle[i] * cpu.hertz * cores;
  chip.memory_bytes = memory_bytes;
  chip.memory_bandwidth = cpu.socket_bandwidth * cores / cpu.socket_cores;
  chip.source = cpu.source;
  return chip;
}

Link read_link(io::TomlTable& table) {
  Link link;
  link.name = table.text("name");
  link.shape =
      static_cast<LinkShape>(choice(table, "shape", {"ring", "line", "torus", "tree", "switch"}));
  link.bandwidth = kGiga * table.number_or("gbps", 0);
  link.hop = 1e-6 * table.number("hop_us");
  link.start = 1e-6 * table.number("start_us");
  link.efficiency = table.number("efficiency");
  if (link.efficiency > 1) throw Error(table.where(), "'efficiency' cannot exceed 1");
  link.source = read_source(table);
  return link;
}

Limit read_limit(io::TomlTable& table) {
  Limit limit;
  limit.instances = table.text_or("instances", "*");
  limit.chip_kind = table.text_or("chip_kind", "");
  limit.op_class = table.text_or("op_class", "");
  limit.since = table.text_or("since", "");
  limit.until = table.text_or("until", "");
  if (table.has("workers"))
    for (double n : table.numbers("workers")) limit.workers.push_back(static_cast<int>(n));
  limit.max_instances = table.integer_or("max_instances", 0);
  limit.training = table.flag_or("training", true);
  limit.warn = table.flag_or("warn", false);
  limit.why = table.text("why");
  limit.source = read_source(table);
  if (limit.training && !limit.warn && limit.workers.empty() && limit.max_instances == 0)
    throw Error(table.where(), "this limit forbids nothing");
  return limit;
}

}  // namespace

class CatalogueReader {
 public:
  explicit CatalogueReader(Catalogue& catalogue) : c_(catalogue) {}

  void read(const std::filesystem::path& dir) {
    each(dir / "chips.toml", "chip", [&](io::TomlTable& t) { insert(c_.chips_, read_chip(t), t); });
    each(dir / "cpus.toml", "cpu", [&](io::TomlTable& t) { insert(c_.cpus_, read_cpu(t), t); });
    read_links(dir / "links.toml");
    for (const Chip& chip : c_.chips_)
      if (!chip.link.empty()) c_.link(chip.link);
    read_instances(dir / "instances.toml", false);
    each(dir / "limits.toml", "limit",
         [&](io::TomlTable& t) { c_.limits_.push_back(read_limit(t)); });
  }

  void read_imported(const std::filesystem::path& path) {
    if (std::filesystem::exists(path)) read_instances(path, true);
  }

 private:
  void read_links(const std::filesystem::path& path) {
    io::TomlFile file(path);
    io::TomlTable root = file.root();
    for (io::TomlTable& table : root.tables("link")) {
      insert(c_.links_, read_link(table), table);
      table.finish();
    }
    for (io::TomlTable& table : root.tables("measured")) {
      read_measured(table);
      table.finish();
    }
    root.finish();
  }

  void read_measured(io::TomlTable& table) {
    std::string name = table.text("link");
    c_.link(name);
    Link& link = *std::find_if(c_.links_.begin(), c_.links_.end(),
                               [&](const Link& l) { return l.name == name; });
    link.measured_ranks = table.integer("ranks", 2);
    std::vector<double> bytes = table.numbers("bytes"), times = table.numbers("microseconds");
    if (bytes.size() != times.size() || bytes.size() < 2 ||
        !std::is_sorted(bytes.begin(), bytes.end()) || !std::is_sorted(times.begin(), times.end()))
      throw Error(table.where(),
                  "'bytes' and 'microseconds' must be ascending lists of one length");
    for (size_t i = 0; i < bytes.size(); ++i) link.measured.push_back({bytes[i], 1e-6 * times[i]});
  }

  void read_instances(const std::filesystem::path& path, bool imported) {
    io::TomlFile file(path);
    io::TomlTable root = file.root();
    const Source inherited = read_source(root);
    for (io::TomlTable& table : root.tables("family")) {
      read_family(table, inherited, imported);
      table.finish();
    }
    root.finish();
  }

  void read_family(io::TomlTable& table, const Source& inherited, bool imported) {
    Instance family;
    family.name = table.text("name");
    family.rentable = table.flag_or("rentable", true);
    const std::string cpu = table.text_or("cpu", "");
    auto found =
        std::find_if(c_.cpus_.begin(), c_.cpus_.end(), [&](const Cpu& c) { return c.name == cpu; });
    if (found != c_.cpus_.end())
      family.cpu = *found;
    else if (!cpu.empty())
      throw Error(table.where(), "unknown cpu '{}'", cpu);
    const bool accelerated = table.has("chip") || table.has("unknown_chip");
    if (table.has("chip"))
      family.chip = c_.chip(table.text("chip"));
    else
      family.chip.name = table.text_or("unknown_chip", "");
    family.link = table.text_or("link", "");
    family.loader_workers = table.integer_or("loader_workers", 0);
    family.source = read_source(table, &inherited);
    for (io::TomlTable& size : table.tables("sizes")) {
      Instance instance = read_size(size, family, accelerated);
      size.finish();
      // What is shipped has been reviewed by hand and stays.
      const auto same = [&](const Instance& other) { return other.name == instance.name; };
      if (imported && std::any_of(c_.instances_.begin(), c_.instances_.end(), same)) continue;
      insert(c_.instances_, std::move(instance), size);
    }
  }

  Instance read_size(io::TomlTable& table, const Instance& family, bool accelerated) {
    Instance instance = family;
    instance.name += "." + table.text("name");
    instance.vcpus = table.integer("vcpus", 1);
    instance.cores = table.integer("cores", 1);
    if (instance.cores > instance.vcpus)
      throw Error(table.where(), "{} has more cores than vcpus", instance.name);
    instance.memory_bytes = kGiB * table.number("memory_gib");
    if (accelerated)
      instance.chips = table.integer("chips", 1);
    else
      instance.chip = chip_of(instance.cpu, instance.cores, instance.memory_bytes);
    instance.link = table.text_or("link", family.link);
    instance.network = kGiga / 8 * table.number("net_gbps");
    instance.network_burst = kGiga / 8 * table.number_or("net_burst_gbps", 0);
    instance.efa = table.flag_or("efa", false);
    if (instance.chips == 1)
      instance.link.clear();
    else if (!instance.link.empty())
      c_.link(instance.link);
    return instance;
  }

  Catalogue& c_;
};

Catalogue Catalogue::load() {
  Catalogue catalogue;
  CatalogueReader reader(catalogue);
  reader.read(data_dir());
  reader.read_imported(user_dir() / "instances.toml");
  return catalogue;
}

Catalogue Catalogue::load(const std::filesystem::path& dir) {
  Catalogue catalogue;
  CatalogueReader(catalogue).read(dir);
  return catalogue;
}

}  // namespace centavo::fleet
