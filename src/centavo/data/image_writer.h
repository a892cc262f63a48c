// ImageWriter: one split of labelled images on its way into a folder, shards or idx files.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "centavo/data/dataset.h"
#include "centavo/data/image_source.h"

namespace centavo::data {

class ImageWriter {
 public:
  virtual ~ImageWriter() = default;
  // `name`: unique within the class, without dots.
  virtual void add(const ImageSource& source, int64_t index, const std::string& class_name,
                   const std::string& name) = 0;
  // Completes what has been written; without it nothing can be relied upon.
  virtual void finish() = 0;
};

// `kind`: folder, shards or idx. Throws Error for another one, and where `directory` holds the
// split already.
std::unique_ptr<ImageWriter> open_image_writer(const std::string& kind,
                                               const std::filesystem::path& directory, Split split,
                                               int64_t shard_size);

}  // namespace centavo::data
