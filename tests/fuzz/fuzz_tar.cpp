// Tar archives: every file lies within the archive and can be read.
#include <numeric>

#include "centavo/base/error.h"
#include "centavo/data/tar.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static volatile uint8_t sink;
  try {
    for (const auto& entry : centavo::data::list_tar(std::as_bytes(std::span(data, size)), "fuzz"))
      sink = std::accumulate(entry.bytes.begin(), entry.bytes.end(), uint8_t{0},
                             [](uint8_t sum, std::byte b) {
                               return static_cast<uint8_t>(sum + std::to_integer<uint8_t>(b));
                             });
  } catch (const centavo::Error&) {
  }
  return 0;
}
