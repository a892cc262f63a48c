// WebP through libwebp.
#include <webp/decode.h>
#include <webp/demux.h>

#include "centavo/data/decoders.h"

namespace centavo::data {
namespace {

// EXIF of a WebP file; some writers put JPEG's marker in front of the TIFF structure.
Orientation orientation_of(std::span<const std::byte> bytes) {
  const WebPData data{reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
  WebPDemuxer* demuxer = WebPDemux(&data);
  if (demuxer == nullptr) return 1;
  Orientation orientation = 1;
  WebPChunkIterator chunk;
  if (WebPDemuxGetChunk(demuxer, "EXIF", 1, &chunk) != 0) {
    std::span exif(reinterpret_cast<const std::byte*>(chunk.chunk.bytes), chunk.chunk.size);
    if (exif.size() > 6 && exif[0] == std::byte{'E'}) exif = exif.subspan(6);
    orientation = read_orientation(exif);
    WebPDemuxReleaseChunkIterator(&chunk);
  }
  WebPDemuxDelete(demuxer);
  return orientation;
}

class WebpPicture : public Picture {
 public:
  WebpPicture(std::span<const std::byte> bytes, std::string name)
      : bytes_(bytes), name_(std::move(name)) {
    WebPBitstreamFeatures features{};
    if (WebPGetFeatures(data(), bytes_.size(), &features) != VP8_STATUS_OK)
      bad_picture(name_, "damaged WebP");
    if (features.has_animation != 0) bad_picture(name_, "an animated WebP");
    height_ = features.height;
    width_ = features.width;
    if (height_ * width_ > kMaxPixels) bad_picture(name_, "more pixels than an image may have");
    orientation_ = orientation_of(bytes_);
  }

  int64_t height() const override { return orientation_ > 4 ? width_ : height_; }
  int64_t width() const override { return orientation_ > 4 ? height_ : width_; }

  Image decode(const Region& region, int64_t channels, int64_t) const override {
    Image image(height_, width_, 3);
    if (WebPDecodeRGBInto(data(), bytes_.size(), image.pixels.data(), image.pixels.size(),
                          static_cast<int>(width_ * 3)) == nullptr) {
      bad_picture(name_, "damaged WebP");
    }
    image = crop(image, stored_region(region, orientation_, height_, width_));
    return with_channels(upright(std::move(image), orientation_), channels);
  }

 private:
  const uint8_t* data() const { return reinterpret_cast<const uint8_t*>(bytes_.data()); }

  std::span<const std::byte> bytes_;
  std::string name_;
  int64_t height_ = 0, width_ = 0;
  Orientation orientation_ = 1;
};

}  // namespace

std::unique_ptr<Picture> open_webp(std::span<const std::byte> bytes, std::string name) {
  return std::make_unique<WebpPicture>(bytes, std::move(name));
}

}  // namespace centavo::data
