// IDX files, the MNIST family's arrays of bytes (yann.lecun.com/exdb/mnist): big-endian header,
// then the values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace centavo::data {

struct IdxArray {
  std::vector<int64_t> dims;
  std::vector<uint8_t> values;  // row-major, the product of dims
};

// Reads a file, gzipped or plain. Throws Error if it is no IDX file of bytes, is cut off, damaged
// or too long.
IdxArray read_idx(const std::filesystem::path& path);

// Writes a plain file, whole or not at all.
void write_idx(const std::filesystem::path& path, const IdxArray& array);

}  // namespace centavo::data
