// PNG through libspng, which checks every checksum and size.
#include <cstdlib>
#include <spng.h>

#include "centavo/data/decoders.h"

namespace centavo::data {
namespace {

class PngPicture : public Picture {
 public:
  PngPicture(std::span<const std::byte> bytes, std::string name)
      : bytes_(bytes), name_(std::move(name)) {
    const Context context = open();
    spng_ihdr header{};
    check(spng_get_ihdr(context.get(), &header));
    height_ = header.height;
    width_ = header.width;
    if (height_ * width_ > kMaxPixels) bad_picture(name_, "more pixels than an image may have");
    grey_ = (header.color_type == SPNG_COLOR_TYPE_GRAYSCALE && header.bit_depth <= 8);
    spng_exif exif{};
    if (spng_get_exif(context.get(), &exif) == 0)
      orientation_ = read_orientation({reinterpret_cast<const std::byte*>(exif.data), exif.length});
  }

  int64_t height() const override { return orientation_ > 4 ? width_ : height_; }
  int64_t width() const override { return orientation_ > 4 ? height_ : width_; }

  Image decode(const Region& region, int64_t channels, int64_t) const override {
    const Context context = open();
    Image image(height_, width_, grey_ ? 1 : 3);
    check(spng_decode_image(context.get(), image.pixels.data(), image.pixels.size(),
                            grey_ ? SPNG_FMT_G8 : SPNG_FMT_RGB8, 0));
    image = crop(image, stored_region(region, orientation_, height_, width_));
    return with_channels(upright(std::move(image), orientation_), channels);
  }

 private:
  struct Free {
    void operator()(spng_ctx* context) const { spng_ctx_free(context); }
  };
  using Context = std::unique_ptr<spng_ctx, Free>;

  Context open() const {
    Context context(spng_ctx_new(0));
    if (!context) throw std::bad_alloc();
    // Text and colour profiles are of no use here; a bomb inside one must not cost memory.
    constexpr size_t kMaxChunk = 1 << 26;
    spng_set_chunk_limits(context.get(), kMaxChunk, kMaxChunk);
    check(spng_set_png_buffer(context.get(), bytes_.data(), bytes_.size()));
    return context;
  }
  void check(int code) const {
    if (code != 0) bad_picture(name_, std::string("damaged PNG (") + spng_strerror(code) + ")");
  }

  std::span<const std::byte> bytes_;
  std::string name_;
  int64_t height_ = 0, width_ = 0;
  bool grey_ = false;
  Orientation orientation_ = 1;
};

}  // namespace

std::string encode_png(const Image& image) {
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  const std::unique_ptr<spng_ctx, void (*)(spng_ctx*)> context(spng_ctx_new(SPNG_CTX_ENCODER),
                                                               spng_ctx_free);
  if (!context) throw std::bad_alloc();
  spng_ihdr header{};
  header.width = static_cast<uint32_t>(image.width);
  header.height = static_cast<uint32_t>(image.height);
  header.bit_depth = 8;
  header.color_type = image.channels == 1 ? SPNG_COLOR_TYPE_GRAYSCALE : SPNG_COLOR_TYPE_TRUECOLOR;
  spng_set_option(context.get(), SPNG_ENCODE_TO_BUFFER, 1);
  spng_set_ihdr(context.get(), &header);
  int code = spng_encode_image(context.get(), image.pixels.data(), image.pixels.size(),
                               SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE);
  size_t size = 0;
  std::unique_ptr<void, Free> png;
  if (code == 0) png.reset(spng_get_png_buffer(context.get(), &size, &code));
  if (code != 0) throw Error("image", "cannot encode a PNG: {}", spng_strerror(code));
  return {static_cast<const char*>(png.get()), size};
}

std::unique_ptr<Picture> open_png(std::span<const std::byte> bytes, std::string name) {
  return std::make_unique<PngPicture>(bytes, std::move(name));
}

}  // namespace centavo::data
