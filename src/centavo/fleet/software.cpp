// Reads software.toml.
#include "centavo/fleet/software.h"

#include <algorithm>

#include "centavo/base/error.h"
#include "centavo/fleet/data_dir.h"
#include "centavo/io/toml_reader.h"

namespace centavo::fleet {

SoftwareTable SoftwareTable::load() {
  return load(data_dir());
}

SoftwareTable SoftwareTable::load(const std::filesystem::path& dir) {
  SoftwareTable software;
  io::TomlFile file(dir / "software.toml");
  io::TomlTable root = file.root();
  for (io::TomlTable& table : root.tables("stack")) {
    Stack stack;
    stack.name = table.text("name");
    const std::string kind = table.text("chip_kind");
    for (ChipKind k : {ChipKind::kNeuron, ChipKind::kGpu, ChipKind::kCpu})
      if (name_of(k) == kind) stack.chip_kind = k;
    if (stack.chip_kind == ChipKind::kOther)
      throw Error(table.where(), "chip_kind must be neuron, gpu or cpu, not '{}'", kind);
    stack.kernel = 1e-6 * table.number("kernel_us");
    stack.kernel_launch = 1e-6 * table.number("kernel_launch_us");
    stack.traces = table.flag_or("traces", false);
    stack.launch_overlaps = table.flag_or("launch_overlaps", false);
    stack.bucket_bytes = 1024 * 1024 * table.number("bucket_mib", 0.001);
    stack.reduce_overlaps = table.flag_or("reduce_overlaps", true);
    stack.prefetch = table.integer("prefetch", 1);
    stack.source = {table.text("source"), table.text("date")};
    table.finish();
    software.stacks_.push_back(std::move(stack));
  }
  root.finish();
  return software;
}

const Stack& SoftwareTable::for_chip(ChipKind kind) const {
  auto found = std::find_if(stacks_.begin(), stacks_.end(),
                            [=](const Stack& s) { return s.chip_kind == kind; });
  if (found == stacks_.end())
    throw Error("fleet", "no software stack is known for {} chips", name_of(kind));
  return *found;
}

}  // namespace centavo::fleet
