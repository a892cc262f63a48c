// Priors and the parameters' file.
#include "centavo/fleet/parameters.h"

#include <algorithm>
#include <fmt/format.h>

#include "centavo/fleet/data_dir.h"
#include "centavo/io/toml_reader.h"

namespace centavo::fleet {

const std::vector<ParameterInfo>& parameter_infos() {
  // Priors: matrix products and streaming kernels at 70 to 90 % of peak are what vendors' own
  // libraries report for large sizes; depthwise kernels at a few per cent of the fp32 peak; a trace
  // of a ViT-sized step in Python and C++ takes tens of milliseconds; decoding and cropping a
  // photograph a few.
  static const std::vector<ParameterInfo> kInfos = {
      {"compute", &Parameters::compute, 0.8, 0.2, "share of peak"},
      {"memory", &Parameters::memory, 0.75, 0.2, "share of bandwidth"},
      {"depthwise", &Parameters::depthwise, 0.06, 0.5, "share of fp32 peak"},
      {"spill", &Parameters::spill, 0.7, 0.5, "traffic ratio"},
      {"neuron_launch", &Parameters::neuron_launch, 0.020, 0.25, "core seconds a step"},
      {"decode", &Parameters::decode, 0.0045, 0.3, "core seconds an image"},
  };
  return kInfos;
}

Parameters Parameters::load() {
  return load(data_dir());
}

Parameters Parameters::load(const std::filesystem::path& dir) {
  Parameters parameters;
  io::TomlFile file(dir / "parameters.toml");
  io::TomlTable root = file.root();
  for (const ParameterInfo& info : parameter_infos())
    parameters.*info.member = root.number(info.name, 1e-9);
  root.finish();
  return parameters;
}

std::string to_toml(const Parameters& parameters) {
  std::string text =
      "# The cost model's fitted parameters; docs/fleet.md explains each. Written by `centavo "
      "fleet calibrate --write`.\n";
  for (const ParameterInfo& info : parameter_infos())
    text += fmt::format("{} = {:.5g}  # {}\n", info.name, parameters.*info.member, info.unit);
  return text;
}

double ErrorBands::of(const Chip& chip) const {
  const double known = chip.kind == ChipKind::kNeuron ? neuron
                       : chip.kind == ChipKind::kCpu  ? cpu
                                                      : gpu;
  return std::find(chips.begin(), chips.end(), chip.name) != chips.end() ? known : 1.5 * known;
}

ErrorBands ErrorBands::load() {
  return load(data_dir());
}

ErrorBands ErrorBands::load(const std::filesystem::path& dir) {
  ErrorBands bands;
  io::TomlFile file(dir / "bands.toml");
  io::TomlTable root = file.root();
  bands.neuron = root.number("neuron");
  bands.gpu = root.number("gpu");
  bands.cpu = root.number("cpu");
  bands.chips = root.texts_or_empty("chips");
  root.finish();
  return bands;
}

std::string to_toml(const ErrorBands& bands) {
  return fmt::format(
      "# How far off predictions are, by kind of chip: what about 80 % of leave-one-out errors "
      "stay within. chips: those\n"
      "# with a row in the calibration. Written by `centavo fleet calibrate --write`.\n"
      "neuron = {:.3g}\ngpu = {:.3g}\ncpu = {:.3g}\nchips = [\"{}\"]\n",
      bands.neuron, bands.gpu, bands.cpu, fmt::join(bands.chips, "\", \""));
}

}  // namespace centavo::fleet
