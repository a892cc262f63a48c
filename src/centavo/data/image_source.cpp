// Pictures that own what they are made from.
#include "centavo/data/image_source.h"

#include <utility>

namespace centavo::data {
namespace {

// A picture over what it keeps alive.
struct OwningPicture {
  EncodedImage image;
  std::unique_ptr<Picture> picture;
};

class PixelPicture : public Picture {
 public:
  explicit PixelPicture(Image image) : image_(std::move(image)) {}
  int64_t height() const override { return image_.height; }
  int64_t width() const override { return image_.width; }
  Image decode(const Region& region, int64_t channels, int64_t) const override {
    return with_channels(crop(image_, region), channels);
  }

 private:
  Image image_;
};

}  // namespace

std::shared_ptr<const Picture> ImageSource::open(int64_t index) const {
  EncodedImage image = encoded(index);
  const std::string file = name() + "/" + key(index) + "." + image.extension;
  return picture_of(std::move(image), file);
}

std::shared_ptr<const Picture> picture_of(EncodedImage image, const std::string& name) {
  auto owner = std::make_shared<OwningPicture>();
  owner->image = std::move(image);
  owner->picture = open_picture(std::as_bytes(std::span(owner->image.bytes)), name);
  return {owner, owner->picture.get()};
}

std::shared_ptr<const Picture> picture_of(Image image) {
  return std::make_shared<PixelPicture>(std::move(image));
}

}  // namespace centavo::data
