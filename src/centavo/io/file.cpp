// POSIX files with errors for people.
#include "centavo/io/file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "centavo/base/error.h"

namespace centavo::io {
namespace {

std::string_view remedy(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "; free some space or choose another place";
    case EACCES:
    case EPERM:
    case EROFS:
      return "; choose a place you may write to";
    case ENOENT:
      return "; check the path";
    case ENOTDIR:
      return "; a part of the path is a file";
    case EFBIG:
      return "; raise the limit on file sizes (ulimit -f)";
    default:
      return "";
  }
}

[[noreturn]] void fail(std::string_view action, const std::filesystem::path& path, int error) {
  throw Error("file", "cannot {} {}: {}{}", action, path.string(), std::strerror(error),
              remedy(error));
}

void write_all(int fd, std::span<const std::byte> bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("write", path, errno);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

std::filesystem::path directory_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

}  // namespace

void make_output_directory(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) fail("make the directory", path, error.value());
  // Permissions do not tell whether a file can be made (root, read-only and full disks): making one
  // does.
  std::string probe = (path / ".centavo-XXXXXX").string();
  int fd = ::mkstemp(probe.data());
  if (fd < 0) fail("write to the directory", path, errno);
  ::close(fd);
  ::unlink(probe.c_str());
}

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  std::string name = path_.string() + ".tmp-XXXXXX";
  fd_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd_ < 0) fail("create", path_, errno);
  temporary_ = name;
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  write_all(fd_, bytes, path_);
}

void AtomicFile::commit() {
  mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(fd_, 0666 & ~mask) != 0) fail("write", path_, errno);
  if (::fsync(fd_) != 0) fail("write", path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("replace", path_, errno);
  ::close(fd_);
  fd_ = -1;
  // The new name itself has to reach the disk.
  int directory = ::open(directory_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) fail("open the directory of", path_, errno);
  int result = ::fsync(directory), error = errno;
  ::close(directory);
  // Some network file systems cannot flush a directory (EINVAL); they keep names safe on their own.
  if (result != 0 && error != EINVAL) fail("flush the directory of", path_, error);
}

void atomic_write_file(const std::filesystem::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

std::string read_file(const std::filesystem::path& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail("open", path, errno);
  std::string content;
  char buffer[1 << 16];
  for (;;) {
    ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    int error = errno;
    if (n > 0) content.append(buffer, static_cast<size_t>(n));
    if (n > 0) continue;
    ::close(fd);
    if (n < 0) fail("read", path, error);
    return content;
  }
}

AppendFile::AppendFile(std::filesystem::path path) : path_(std::move(path)) {
  fd_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd_ < 0) fail("open", path_, errno);
}

AppendFile::~AppendFile() {
  ::close(fd_);
}

void AppendFile::append(std::string_view text) {
  write_all(fd_, std::as_bytes(std::span(text)), path_);
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail("open", path, errno);
  struct stat info {};
  int error = ::fstat(fd, &info) != 0 ? errno : S_ISDIR(info.st_mode) ? EISDIR : 0;
  void* data = nullptr;
  auto size = static_cast<size_t>(info.st_size);
  if (error == 0 && size > 0) {  // an empty mapping is an error to mmap, not to us
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) error = errno;
  }
  ::close(fd);
  if (error != 0) fail("read", path, error);
  bytes_ = {static_cast<const std::byte*>(data), data == nullptr ? 0 : size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace centavo::io
