// The fleet catalogue: chips, processors, links, instance types and what each cannot do, with the
// source and date of every figure. Prices are in prices.h, software in software.h.
#pragma once

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace centavo::fleet {

struct Source {
  std::string text;  // who published the figure
  std::string date;  // YYYY, YYYY-MM or YYYY-MM-DD: when it held
};

// The format in which a matrix unit multiplies; a chip's peak depends on it.
enum class NumberFormat { kFp8, kBf16, kFp16, kTf32, kFp32 };
inline constexpr std::array<std::string_view, 5> kNumberFormats = {"fp8", "bf16", "fp16", "tf32",
                                                                   "fp32"};

enum class ChipKind { kNeuron, kGpu, kCpu, kOther };
std::string_view name_of(ChipKind kind);

// Rates are per chip; a CPU-only instance's processor counts as one chip with one worker.
struct Chip {
  std::string name;
  std::vector<std::string> aliases;
  ChipKind kind = ChipKind::kOther;
  int workers = 1;                // data-parallel workers it holds: NeuronCores, or 1
  std::array<double, 5> flops{};  // FLOP/s by NumberFormat; 0: unknown or not supported
  double memory_bytes = 0;
  double memory_bandwidth = 0;  // B/s; 0: unknown
  double sram_bytes = 0;        // on-chip memory the software manages; 0: none
  std::string link;             // joins its workers; empty with one worker
  std::string no_training;      // why it cannot train; empty if it can
  Source source;

  double peak(NumberFormat format) const { return flops[static_cast<size_t>(format)]; }
  // Whether the catalogue knows enough about it to predict.
  bool predictable() const { return memory_bandwidth > 0 && peak(NumberFormat::kFp32) > 0; }
};

struct Cpu {
  std::string name;
  double hertz = 0;                   // under sustained vector load
  std::array<double, 5> per_cycle{};  // FLOP per cycle and core by NumberFormat; 0: no instruction
  int socket_cores = 0;
  double socket_bandwidth = 0;  // B/s
  Source source;
};

// How an all-reduce moves data between the members that a link joins.
enum class LinkShape { kRing, kLine, kTorus, kTree, kSwitch };
std::string_view name_of(LinkShape shape);

struct Link {
  std::string name;
  LinkShape shape = LinkShape::kRing;
  double bandwidth =
      0;  // B/s one member sends over all its links, one direction; 0: the instance's network
  double hop = 0;         // s a step between neighbours
  double start = 0;       // s to start a collective
  double efficiency = 1;  // share of bandwidth a large all-reduce reaches
  // Published all-reduce times for exactly `ranks` members: {bytes, seconds}, ascending. Empty if
  // none.
  struct Point {
    double bytes, seconds;
  };
  int measured_ranks = 0;
  std::vector<Point> measured;
  Source source;
};

struct Instance {
  std::string name;  // trn1.2xlarge
  bool rentable = true;
  Chip chip;  // the accelerator, or the processor itself as a chip
  int chips = 1;
  std::string link;  // between chips; empty with one chip
  Cpu cpu;
  int vcpus = 0;
  int cores = 0;  // physical
  double memory_bytes = 0;
  double network = 0;  // B/s, sustained
  double network_burst = 0;
  bool efa = false;
  int loader_workers = 0;  // per worker, where the published figures of a fixed system say so
  Source source;

  int workers() const { return chips * chip.workers; }
};

// Something a machine cannot do. Fields that are empty or zero do not restrict.
struct Limit {
  std::string instances;     // glob over instance names
  std::string chip_kind;     // "neuron", ...
  std::string op_class;      // a model with such ops
  std::string since, until;  // dates of the software it holds for: since <= date < until
  std::vector<int> workers;  // the only worker counts allowed on one instance
  int max_instances = 0;
  bool training = true;  // false: refuse
  bool warn = false;     // mark, do not refuse
  std::string why;
  Source source;
};

class Catalogue {
 public:
  // Reads chips, cpus, links, instances and limits (.toml) from `dir`, by default data_dir().
  // Throws Error naming file and line for unknown keys, unknown references, duplicate names and
  // values out of range.
  static Catalogue load(const std::filesystem::path& dir);
  static Catalogue load();

  const std::vector<Instance>& instances() const { return instances_; }
  const std::vector<Chip>& chips() const { return chips_; }
  const std::vector<Limit>& limits() const { return limits_; }

  // By exact name (a chip also by alias); throws Error with the nearest name.
  const Instance& instance(std::string_view name) const;
  const Chip& chip(std::string_view name) const;
  const Link& link(std::string_view name) const;
  // Rentable instances matching any of the comma-separated globs, in catalogue order; all for "".
  // Throws Error for a glob that matches nothing.
  std::vector<const Instance*> match(std::string_view globs) const;

 private:
  std::vector<Chip> chips_;
  std::vector<Cpu> cpus_;
  std::vector<Link> links_;
  std::vector<Instance> instances_;
  std::vector<Limit> limits_;
  friend class CatalogueReader;
};

}  // namespace centavo::fleet
