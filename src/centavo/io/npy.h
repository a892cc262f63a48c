// NumPy's .npy files, versions 1.0 to 3.0, row-major and little-endian.
#pragma once

#include <filesystem>
#include <vector>

#include "centavo/base/shape.h"

namespace centavo::io {

struct NpyArray {
  TensorType type;
  std::vector<std::byte> data;  // type.bytes() of them
};

// Throws Error naming the file when it is no .npy file, or holds what Centavo has no dtype for.
// bf16 is what ml_dtypes writes: two bytes of no dtype (V2).
NpyArray read_npy(const std::filesystem::path& path);
// Writes type.bytes() bytes, whole or not at all.
void write_npy(const std::filesystem::path& path, const TensorType& type, const void* data);

}  // namespace centavo::io
