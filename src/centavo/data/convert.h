// Images from one kind of storage to another: folder, idx and shards, in the same order and with
// the same pixels.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "centavo/data/dataset.h"

namespace centavo::data {

struct ConvertOptions {
  Split split = Split::kTrain;
  std::optional<int64_t> num_classes;  // left out: the source's own
  int64_t shard_size = 10000;          // samples in each tar archive
  // Called after each image: how many are done, of how many.
  std::function<void(int64_t done, int64_t total)> on_image;
};

// Writes the split of `from` (folder:DIR, idx:DIR, shards:PATTERN) as `to` (folder:DIR, idx:DIR,
// shards:DIR) and returns how many images it holds. Encoded images are copied as they are, idx's
// become PNG; idx takes grey images of one size only. Throws Error where `to` holds the split
// already, and naming the image that cannot be read or does not fit.
int64_t convert(const std::string& from, const std::string& to, const ConvertOptions& options);

}  // namespace centavo::data
