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
    case EISDIR:
      return "; name a file in it";
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

// A new name has to reach the disk as well as the file.
void flush_directory(const std::filesystem::path& path) {
  int directory = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) fail("open the directory", path, errno);
  int result = ::fsync(directory), error = errno;
  ::close(directory);
  // Some network file systems cannot flush a directory (EINVAL); they keep names safe on their own.
  if (result != 0 && error != EINVAL) fail("flush the directory", path, error);
}

std::string temporary_name(const std::filesystem::path& path) {
  return path.string() + std::string(kTemporaryMark) + "XXXXXX";
}

mode_t creation_mask() {
  mode_t mask = ::umask(0);
  ::umask(mask);
  return mask;
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
  if (std::error_code none; std::filesystem::is_directory(path_, none))
    fail("create", path_, EISDIR);
  std::string name = temporary_name(path_);
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
  if (::fchmod(fd_, 0666 & ~creation_mask()) != 0) fail("write", path_, errno);
  if (::fsync(fd_) != 0) fail("write", path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("replace", path_, errno);
  ::close(fd_);
  fd_ = -1;
  flush_directory(directory_of(path_));
}

AtomicDirectory::AtomicDirectory(std::filesystem::path path) : path_(std::move(path)) {
  std::string name = temporary_name(path_);
  if (::mkdtemp(name.data()) == nullptr) fail("create", path_, errno);
  temporary_ = name;
}

AtomicDirectory::~AtomicDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(temporary_, ignored);
}

void AtomicDirectory::commit() {
  if (::chmod(temporary_.c_str(), 0777 & ~creation_mask()) != 0) fail("write", path_, errno);
  flush_directory(temporary_);
  // The destructor removes what the exchange leaves under the temporary name.
  int result = ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE);
  if (result != 0) {  // nothing there yet, or a file system that cannot exchange
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
    result = ::rename(temporary_.c_str(), path_.c_str());
  }
  if (result != 0) fail("replace", path_, errno);
  flush_directory(directory_of(path_));
}

void replace_symlink(const std::filesystem::path& target, const std::filesystem::path& link) {
  const std::string temporary = link.string() + std::string(kTemporaryMark) + "link";
  ::unlink(temporary.c_str());
  if (::symlink(target.c_str(), temporary.c_str()) != 0) fail("create", link, errno);
  if (::rename(temporary.c_str(), link.c_str()) != 0) {
    int error = errno;
    ::unlink(temporary.c_str());
    fail("replace", link, error);
  }
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
