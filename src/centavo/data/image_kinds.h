// The kinds of data that hold images, and the names that they share.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "centavo/data/dataset.h"
#include "centavo/data/image_source.h"

namespace centavo::data {

std::shared_ptr<const ImageSource> open_folder_images(const std::string& directory,
                                                      const DatasetOptions& options);
std::shared_ptr<const ImageSource> open_idx_images(const std::string& directory,
                                                   const DatasetOptions& options);
std::shared_ptr<const ImageSource> open_shard_images(const std::string& pattern,
                                                     const DatasetOptions& options);

// What folder:DIR, idx:DIR or shards:PATTERN names. Throws Error for another kind of data.
std::shared_ptr<const ImageSource> open_images(std::string_view spec,
                                               const DatasetOptions& options);

// timm's names of a split, the usual one first: train, training; val, validation, ...
const std::vector<std::string>& split_names(Split split);

// jpg, jpeg, png or webp, in any case.
bool is_image_extension(std::string_view extension);

}  // namespace centavo::data
