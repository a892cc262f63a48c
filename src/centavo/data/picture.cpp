// Which decoder a file needs.
#include <cstring>

#include "centavo/data/decoders.h"

namespace centavo::data {

std::unique_ptr<Picture> open_picture(std::span<const std::byte> bytes, std::string_view name) {
  const auto has = [&](size_t at, std::string_view magic) {
    return bytes.size() >= at + magic.size() &&
           std::memcmp(bytes.data() + at, magic.data(), magic.size()) == 0;
  };
  std::unique_ptr<Picture> picture;
  if (has(0, "\xff\xd8\xff")) {
    picture = open_jpeg(bytes, std::string(name));
  } else if (has(0, "\x89PNG\r\n\x1a\n")) {
    picture = open_png(bytes, std::string(name));
  } else if (has(0, "RIFF") && has(8, "WEBP")) {
    picture = open_webp(bytes, std::string(name));
  } else {
    bad_picture(std::string(name), bytes.empty() ? "an empty file" : "neither JPEG, PNG nor WebP");
  }
  return picture;
}

}  // namespace centavo::data
