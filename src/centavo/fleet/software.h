// Software stacks: what a training framework costs on each kind of chip besides the arithmetic.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "centavo/fleet/catalogue.h"

namespace centavo::fleet {

enum class Layout { kNchw, kNhwc };

struct Stack {
  std::string name;
  ChipKind chip_kind = ChipKind::kOther;
  double kernel = 0;             // s between kernels that nothing hides
  double kernel_launch = 0;      // s of CPU to launch one kernel
  bool traces = false;           // a step costs Parameters::neuron_launch of CPU instead
  bool launch_overlaps = false;  // the host runs ahead of the device
  double bucket_bytes = 0;       // gradients reduced together
  bool reduce_overlaps = true;   // while backward still runs
  int prefetch = 2;              // batches each loader worker keeps ready
  Source source;
};

class SoftwareTable {
 public:
  // Reads software.toml from `dir`, by default data_dir().
  static SoftwareTable load(const std::filesystem::path& dir);
  static SoftwareTable load();
  // The first stack for that kind of chip; throws Error when there is none.
  const Stack& for_chip(ChipKind kind) const;
  const std::vector<Stack>& all() const { return stacks_; }

 private:
  std::vector<Stack> stacks_;
};

}  // namespace centavo::fleet
