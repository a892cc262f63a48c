// ImageSource: labelled images by index, as they are stored. No transformation here; ImageDataset
// makes samples of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "centavo/data/image.h"

namespace centavo::data {

// Immutable once made, so every member may be called from many threads at once.
class ImageSource {
 public:
  virtual ~ImageSource() = default;

  virtual std::string name() const = 0;  // as messages show it: "folder:/data/pets"
  virtual int64_t size() const = 0;
  // In [0, num_classes()).
  virtual int32_t label(int64_t index) const = 0;
  virtual int64_t num_classes() const = 0;
  // In label order; empty where the data has none.
  virtual std::vector<std::string> class_names() const { return {}; }
  // Name of an image that is unique within the source and has no extension: "cat/0001".
  virtual std::string key(int64_t index) const = 0;
  // Throws Error naming the image if it cannot be read or is no image.
  virtual std::shared_ptr<const Picture> open(int64_t index) const = 0;
};

// An encoded image and a picture over it that keeps it alive. Throws Error as open_picture().
std::shared_ptr<const Picture> open_picture_owning(std::string bytes, const std::string& name);

// A picture over pixels in memory.
std::shared_ptr<const Picture> picture_of(Image image);

}  // namespace centavo::data
