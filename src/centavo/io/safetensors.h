// safetensors, the format of weights (github.com/huggingface/safetensors): named arrays in one
// file, read by mapping.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "centavo/base/shape.h"
#include "centavo/io/file.h"

namespace centavo::io {

// A named array: row-major, little-endian, type.bytes() long.
struct NamedTensor {
  std::string name;
  TensorType type;
  const std::byte* data = nullptr;
};

using Metadata = std::map<std::string, std::string>;

// An opened file, every byte of its header checked: the offsets lie inside the file, cover it
// without holes or overlap and agree with the shapes; no name comes twice. Throws Error naming the
// file and what is wrong with it.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  // In the order of their data. Data points into the mapping, lives as long as this object and may
  // be unaligned in files that others wrote.
  const std::vector<NamedTensor>& tensors() const { return tensors_; }
  const Metadata& metadata() const { return metadata_; }
  // Null if there is none of that name.
  const NamedTensor* find(std::string_view name) const;
  // Throws Error, offering the nearest name, if there is none.
  const NamedTensor& at(std::string_view name) const;

 private:
  std::filesystem::path path_;
  MappedFile file_;
  Metadata metadata_;
  std::vector<NamedTensor> tensors_;
  std::map<std::string, size_t, std::less<>> by_name_;
};

// Writes the tensors in the order given; the file replaces an older one only when complete. The
// data begins at a multiple of 64 bytes. Throws Error on a name given twice or a failing disk.
void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       const Metadata& metadata = {{"format", "pt"}});

}  // namespace centavo::io
