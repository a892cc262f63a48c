// ImageSource: labelled images by index, as they are stored. No transformation here; ImageDataset
// makes samples of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "centavo/base/shape.h"
#include "centavo/data/image.h"

namespace centavo::data {

struct EncodedImage {
  std::string extension;  // without the dot: "jpg"
  std::string bytes;
};

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
  // The image as a file. Throws Error naming it if it cannot be read.
  virtual EncodedImage encoded(int64_t index) const = 0;
  // Throws Error naming the image if it cannot be read or is no image.
  virtual std::shared_ptr<const Picture> open(int64_t index) const;
  // [C,H,W] where all images are known to have it: then it is what a model gets.
  virtual std::optional<Shape> common_shape() const { return std::nullopt; }
};

// A picture that keeps the file it is made of. Throws Error as open_picture().
std::shared_ptr<const Picture> picture_of(EncodedImage image, const std::string& name);
// A picture over pixels in memory.
std::shared_ptr<const Picture> picture_of(Image image);

}  // namespace centavo::data
