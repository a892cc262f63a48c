// libarchive walks over the headers; it hands out each file's bytes in place, without copying.
#include "centavo/data/tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <memory>

#include "centavo/base/error.h"

namespace centavo::data {
namespace {

struct Free {
  void operator()(archive* a) const { archive_read_free(a); }
};
using Reader = std::unique_ptr<archive, Free>;

[[noreturn]] void damaged(const std::string& name, const std::string& what) {
  throw Error("tar", "{}: {}; download or convert it again", name, what);
}

// The bytes of the entry that the reader stands at.
std::span<const std::byte> content(archive* reader, int64_t size,
                                   std::span<const std::byte> archive, const std::string& name,
                                   const std::string& path) {
  if (size == 0) return {};
  const void* data = nullptr;
  size_t length = 0;
  la_int64_t offset = 0;
  if (archive_read_data_block(reader, &data, &length, &offset) != ARCHIVE_OK || offset != 0 ||
      static_cast<int64_t>(length) != size) {
    damaged(name, fmt::format("cut off or sparse at {}", path));
  }
  const auto* begin = static_cast<const std::byte*>(data);
  if (begin < archive.data() || begin + length > archive.data() + archive.size())
    damaged(name, fmt::format("{} is compressed", path));
  return {begin, length};
}

}  // namespace

std::vector<TarEntry> list_tar(std::span<const std::byte> archive, const std::string& name) {
  Reader reader(archive_read_new());
  if (!reader) throw std::bad_alloc();
  archive_read_support_format_tar(reader.get());
  if (archive_read_open_memory(reader.get(), archive.data(), archive.size()) != ARCHIVE_OK)
    damaged(name, "no tar archive");
  std::vector<TarEntry> entries;
  for (;;) {
    archive_entry* entry = nullptr;
    const int code = archive_read_next_header(reader.get(), &entry);
    if (code == ARCHIVE_EOF) return entries;
    if (code != ARCHIVE_OK && code != ARCHIVE_WARN) {
      const char* why = archive_error_string(reader.get());
      damaged(name, fmt::format("no tar archive, compressed, or damaged ({})", why ? why : "?"));
    }
    if (archive_entry_filetype(entry) != AE_IFREG) continue;
    const char* path = archive_entry_pathname(entry);
    if (path == nullptr) damaged(name, "a file without a name");
    if (archive_entry_hardlink(entry) != nullptr)
      damaged(name, fmt::format("{} is a link, which has no bytes of its own", path));
    entries.push_back(
        {path, content(reader.get(), archive_entry_size(entry), archive, name, path)});
  }
}

}  // namespace centavo::data
