// Files and directories a run writes: whole or not at all, with errors that name the path and the
// remedy.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace centavo::io {

// Makes `path` and its parents and proves that files can be made in it. Throws Error otherwise.
void make_output_directory(const std::filesystem::path& path);

// A file that appears under its name only when complete: written beside it under a temporary name,
// flushed to disk by commit(), then renamed. Dropped without commit(), it leaves what was there
// before.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();

 private:
  std::filesystem::path path_, temporary_;
  int fd_ = -1;
};

// A directory that appears under its name only when complete: filled under a temporary name beside
// it, flushed by commit(), then renamed; one that is there already is replaced in the same instant.
// Dropped without commit(), it leaves what was there before.
class AtomicDirectory {
 public:
  explicit AtomicDirectory(std::filesystem::path path);
  ~AtomicDirectory();
  AtomicDirectory(const AtomicDirectory&) = delete;
  AtomicDirectory& operator=(const AtomicDirectory&) = delete;

  // Where the files go until commit().
  const std::filesystem::path& temporary() const { return temporary_; }
  void commit();

 private:
  std::filesystem::path path_, temporary_;
};

// Makes `link` a symbolic link to `target`, replacing an older link in one instant.
void replace_symlink(const std::filesystem::path& target, const std::filesystem::path& link);

// What the temporary names of AtomicFile and AtomicDirectory hold: a killed run leaves them behind.
inline constexpr std::string_view kTemporaryMark = ".tmp-";

void atomic_write_file(const std::filesystem::path& path, std::string_view content);

// The whole file. Throws Error if it cannot be read.
std::string read_file(const std::filesystem::path& path);

// A file that rows are appended to, each reaching the operating system at once, so that a killed
// run loses none.
class AppendFile {
 public:
  explicit AppendFile(std::filesystem::path path);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  void append(std::string_view text);

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

// A file's bytes, mapped read-only. The file must not shrink while mapped.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace centavo::io
