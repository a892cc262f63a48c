// Blocks of two megabytes and more ask for huge pages: packing writes them and products read them
// in strides.
#include "centavo/backend/cpu/kernels/scratch.h"

#include <cstdlib>
#include <new>
#include <sys/mman.h>

namespace centavo::cpu {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kPage = 4096;

size_t round_up(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

void Scratch::Free::operator()(std::byte* p) const {
  std::free(p);
}

std::byte* Scratch::reserve(size_t bytes) {
  if (bytes <= size_) return data_.get();
  data_.reset();
  const size_t alignment = bytes >= kHugePage ? kHugePage : kPage;
  size_ = round_up(bytes, alignment);
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, size_)));
  if (!data_) {
    size_ = 0;
    throw std::bad_alloc();
  }
#ifdef MADV_HUGEPAGE
  if (alignment == kHugePage)
    madvise(data_.get(), size_, MADV_HUGEPAGE);  // a wish; failure is fine
#endif
  return data_.get();
}

}  // namespace centavo::cpu
