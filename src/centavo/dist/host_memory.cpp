// memfd mappings and futexes.
#include "centavo/dist/host_memory.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "centavo/base/error.h"

namespace centavo::dist {

HostMemory::HostMemory(int64_t bytes) : bytes_(bytes) {
  fd_ = memfd_create("centavo", MFD_CLOEXEC);
  if (fd_ < 0 || ftruncate(fd_, bytes) != 0)
    throw Error("dist", "cannot make {} bytes of shared memory: {}", bytes, std::strerror(errno));
  map();
}

HostMemory::HostMemory(int64_t pid, int fd, int64_t bytes) : bytes_(bytes) {
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, fd);
  fd_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd_ < 0)
    throw Error("dist",
                "cannot share memory with process {} of this host ({}: {}); the ranks of a host "
                "must run as one user, in one container",
                pid, path, std::strerror(errno));
  map();
  close_fd();
}

void HostMemory::map() {
  void* p = mmap(nullptr, static_cast<size_t>(bytes_), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (p == MAP_FAILED)
    throw Error("dist", "cannot map {} bytes of shared memory: {}", bytes_, std::strerror(errno));
  data_ = static_cast<std::byte*>(p);
  madvise(p, static_cast<size_t>(bytes_), MADV_HUGEPAGE);
}

HostMemory::~HostMemory() {
  if (data_) munmap(data_, static_cast<size_t>(bytes_));
  close_fd();
}

void HostMemory::close_fd() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

void HostMemory::swap(HostMemory& other) {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(fd_, other.fd_);
}

void wait_while(const std::atomic<uint32_t>& word, uint32_t seen, int milliseconds) {
  const timespec limit{milliseconds / 1000, milliseconds % 1000 * 1'000'000L};
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

void wake_all(const std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace centavo::dist
