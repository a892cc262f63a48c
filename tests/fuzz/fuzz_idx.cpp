// IDX files, plain and gzipped.
#include <sys/mman.h>
#include <unistd.h>

#include "centavo/base/error.h"
#include "centavo/data/idx_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int fd = memfd_create("fuzz", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(fd);
  if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != static_cast<ssize_t>(size)) return 0;
  try {
    const centavo::data::IdxArray array = centavo::data::read_idx(path);
    uint64_t count = 1;
    for (int64_t extent : array.dims) count *= static_cast<uint64_t>(extent);
    if (count != array.values.size()) __builtin_trap();
  } catch (const centavo::Error&) {
  }
  return 0;
}
