// One opener a format, for open_picture.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "centavo/base/error.h"
#include "centavo/data/image.h"

namespace centavo::data {

std::unique_ptr<Picture> open_jpeg(std::span<const std::byte> bytes, std::string name);
std::unique_ptr<Picture> open_png(std::span<const std::byte> bytes, std::string name);
std::unique_ptr<Picture> open_webp(std::span<const std::byte> bytes, std::string name);

// No training image is larger; what claims to be is damaged or made to exhaust memory.
inline constexpr int64_t kMaxPixels = int64_t{1} << 27;

[[noreturn]] inline void bad_picture(const std::string& name, std::string_view what) {
  throw Error("image", "{}: {}; remove it or download it again", name, what);
}

}  // namespace centavo::data
