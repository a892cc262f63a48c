// JPEG, PNG and WebP files, whole and in part, at any reduction.
#include <span>

#include "centavo/base/error.h"
#include "centavo/data/image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace centavo::data;
  try {
    const auto picture = open_picture(std::as_bytes(std::span(data, size)), "fuzz");
    const int64_t height = picture->height(), width = picture->width();
    constexpr int64_t kQuick = 1 << 18;  // larger ones are only slow
    if (height * width > kQuick) return 0;
    picture->decode(3);
    const Region part{height / 3, width / 4, (height + 2) / 3, (width + 1) / 2};
    for (int64_t reduce : {1, 2, 4, 8}) picture->decode(part, 1, reduce);
  } catch (const centavo::Error&) {
  }
  return 0;
}
