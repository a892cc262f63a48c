// JPEG through libjpeg-turbo: only the wanted rows and columns are transformed, at 1/2, 1/4 or 1/8
// where asked.
#include <algorithm>
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it first
#include <cstring>
#include <jerror.h>
#include <jpeglib.h>

#include "centavo/data/decoders.h"

namespace centavo::data {
namespace {

// A decompressor whose C errors come back by longjmp. What runs under guard() holds no objects with
// destructors, so that libjpeg may jump out of it.
class Decompressor {
 public:
  // Reads the header of `bytes`.
  Decompressor(std::span<const std::byte> bytes, const std::string& name) : name_(name) {
    info_.err = jpeg_std_error(&errors_);
    info_.client_data = this;
    errors_.error_exit = leave;
    errors_.output_message = [](j_common_ptr) {};
    errors_.emit_message = [](j_common_ptr info, int level) {
      // libjpeg would invent the rest of a file that is cut off.
      if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) leave(info);
    };
    progress_.progress_monitor = [](j_common_ptr info) {
      // A few kilobytes can hold thousands of scans over a huge image; real files have about ten.
      if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= 200) return;
      info->err->msg_code = JERR_BAD_PROGRESSION;
      leave(info);
    };
    try {
      guard([&] {
        jpeg_create_decompress(&info_);
        info_.progress = &progress_;
        jpeg_save_markers(&info_, kExifMarker, 0xffff);
        jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
        jpeg_read_header(&info_, TRUE);
      });
    } catch (...) {
      jpeg_destroy_decompress(&info_);
      throw;
    }
  }
  ~Decompressor() { jpeg_destroy_decompress(&info_); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  jpeg_decompress_struct& info() { return info_; }

  // Runs f; throws Error if libjpeg gives up in it.
  template <class F>
  void guard(const F& f) {
    if (setjmp(jump_) == 0) {
      f();
      return;
    }
    char message[JMSG_LENGTH_MAX];
    errors_.format_message(reinterpret_cast<j_common_ptr>(&info_), message);
    bad_picture(name_, std::string("damaged JPEG (") + message + ")");
  }

  Orientation orientation() const {
    constexpr std::string_view kExif("Exif\0\0", 6);
    for (const jpeg_marker_struct* m = info_.marker_list; m != nullptr; m = m->next) {
      if (m->data_length <= kExif.size() || std::memcmp(m->data, kExif.data(), kExif.size()) != 0)
        continue;
      return read_orientation({reinterpret_cast<const std::byte*>(m->data) + kExif.size(),
                               m->data_length - kExif.size()});
    }
    return 1;
  }

 private:
  static constexpr int kExifMarker = JPEG_APP0 + 1;

  [[noreturn]] static void leave(j_common_ptr info) {
    std::longjmp(static_cast<Decompressor*>(info->client_data)->jump_, 1);
  }

  const std::string& name_;
  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf jump_;
};

// One row of CMYK as RGB, in place. Adobe's files, which are the ones there are, store inverted
// values.
void convert_cmyk(const uint8_t* from, uint8_t* to, int64_t width, bool inverted) {
  for (int64_t x = 0; x < width; ++x, from += 4, to += 3) {
    const auto white = [&](int i) { return inverted ? from[i] : 255 - from[i]; };
    for (int i = 0; i < 3; ++i) to[i] = static_cast<uint8_t>((white(i) * white(3) + 127) / 255);
  }
}

class JpegPicture : public Picture {
 public:
  JpegPicture(std::span<const std::byte> bytes, std::string name)
      : bytes_(bytes), name_(std::move(name)) {
    Decompressor jpeg(bytes_, name_);
    height_ = jpeg.info().image_height;
    width_ = jpeg.info().image_width;
    if (height_ * width_ > kMaxPixels) bad_picture(name_, "more pixels than an image may have");
    orientation_ = jpeg.orientation();
  }

  int64_t height() const override { return orientation_ > 4 ? width_ : height_; }
  int64_t width() const override { return orientation_ > 4 ? height_ : width_; }

  Image decode(const Region& region, int64_t channels, int64_t reduce) const override {
    const Region r = stored_region(region, orientation_, height_, width_);
    const Region scaled{r.top / reduce, r.left / reduce,
                        (r.top + r.height + reduce - 1) / reduce - r.top / reduce,
                        (r.left + r.width + reduce - 1) / reduce - r.left / reduce};
    return with_channels(upright(decode_stored(scaled, channels, reduce), orientation_), channels);
  }

 private:
  // `r` in pixels of the stored, reduced image. May return RGB where grey was asked for.
  Image decode_stored(const Region& r, int64_t channels, int64_t reduce) const {
    Decompressor jpeg(bytes_, name_);
    jpeg_decompress_struct& info = jpeg.info();
    const bool cmyk = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
    const bool grey = info.jpeg_color_space == JCS_GRAYSCALE ||
                      (channels == 1 && info.jpeg_color_space == JCS_YCbCr);
    info.out_color_space = cmyk ? JCS_CMYK : grey ? JCS_GRAYSCALE : JCS_RGB;
    info.scale_num = 1;
    info.scale_denom = static_cast<unsigned>(reduce);

    // Interpolated chroma needs neighbours: a few more columns keep the wanted ones as a whole
    // decoding has them.
    constexpr int64_t kMargin = 4;
    auto first = static_cast<JDIMENSION>(std::max<int64_t>(r.left - kMargin, 0));
    jpeg.guard([&] {
      jpeg_start_decompress(&info);
      auto columns = static_cast<JDIMENSION>(
                         std::min<int64_t>(r.left + r.width + kMargin, info.output_width)) -
                     first;
      jpeg_crop_scanline(&info, &first, &columns);  // moves `first` to the left, to a whole block
    });
    const int64_t components = info.output_components;
    Image image(r.height, r.width, cmyk ? 3 : components);
    std::vector<uint8_t> buffer(static_cast<size_t>(info.output_width) *
                                static_cast<size_t>(components));
    uint8_t* row = buffer.data();
    const uint8_t* wanted = row + (r.left - first) * components;
    jpeg.guard([&] {
      if (r.top > 0) jpeg_skip_scanlines(&info, static_cast<JDIMENSION>(r.top));
      for (int64_t y = 0; y < r.height; ++y) {
        jpeg_read_scanlines(&info, &row, 1);
        if (cmyk) {
          convert_cmyk(wanted, image.row(y), r.width, info.saw_Adobe_marker != 0);
        } else {
          std::memcpy(image.row(y), wanted, static_cast<size_t>(r.width * components));
        }
      }
    });
    return image;  // the rows below are never decoded
  }

  std::span<const std::byte> bytes_;
  std::string name_;
  int64_t height_ = 0, width_ = 0;
  Orientation orientation_ = 1;
};

}  // namespace

std::unique_ptr<Picture> open_jpeg(std::span<const std::byte> bytes, std::string name) {
  return std::make_unique<JpegPicture>(bytes, std::move(name));
}

}  // namespace centavo::data
