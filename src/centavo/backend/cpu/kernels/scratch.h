// Memory for kernels to work in, kept by each thread and grown when needed: steady state allocates
// nothing.
#pragma once

#include <cstddef>
#include <memory>

namespace centavo::cpu {

// One growing block, aligned to 64 bytes, in huge pages where they pay and the system has them.
class Scratch {
 public:
  // At least `bytes`; the contents are lost when it grows.
  std::byte* reserve(size_t bytes);

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  size_t size_ = 0;
};

}  // namespace centavo::cpu
