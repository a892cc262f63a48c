// Where the files of a tar archive lie, so that each can be read on its own.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace centavo::data {

struct TarEntry {
  std::string path;
  std::span<const std::byte> bytes;  // a part of the archive
};

// The regular files of an uncompressed archive in memory, in their order. Reads headers only.
// Throws Error, naming `name`, if it is no tar archive, is compressed, damaged or cut off.
std::vector<TarEntry> list_tar(std::span<const std::byte> archive, const std::string& name);

}  // namespace centavo::data
