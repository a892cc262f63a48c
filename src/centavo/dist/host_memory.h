// Memory that the processes of one host share, and waiting on words in it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace centavo::dist {

// A shared mapping. Anonymous: it has no name in the file system and goes with its last process.
class HostMemory {
 public:
  HostMemory() = default;
  // Makes zeroed memory.
  explicit HostMemory(int64_t bytes);
  // Maps memory that the process `pid` of this host made, where it is its file `fd`.
  HostMemory(int64_t pid, int fd, int64_t bytes);
  ~HostMemory();
  HostMemory(HostMemory&& other) noexcept { swap(other); }
  HostMemory& operator=(HostMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  int fd() const { return fd_; }
  // Other processes have mapped it: the descriptor is not needed any more.
  void close_fd();

 private:
  void swap(HostMemory& other);
  void map();
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
  int fd_ = -1;
};

// Sleeps until `word` is no longer `seen`, or about `milliseconds` have passed.
void wait_while(const std::atomic<uint32_t>& word, uint32_t seen, int milliseconds);
// Wakes whoever sleeps on `word`, in any process.
void wake_all(const std::atomic<uint32_t>& word);

}  // namespace centavo::dist
