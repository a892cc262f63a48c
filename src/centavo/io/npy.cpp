// Reading and writing of .npy files.
#include "centavo/io/npy.h"

#include <array>
#include <charconv>
#include <cstring>
#include <fmt/ranges.h>

#include "centavo/io/file.h"

namespace centavo::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr int64_t kMaxElements = int64_t{1} << 40;

struct Descr {
  DType dtype;
  std::string_view name;
};
constexpr std::array kDescrs = {
    Descr{DType::kBool, "|b1"}, Descr{DType::kU8, "|u1"},  Descr{DType::kI8, "|i1"},
    Descr{DType::kI32, "<i4"},  Descr{DType::kU32, "<u4"}, Descr{DType::kI64, "<i8"},
    Descr{DType::kU64, "<u8"},  Descr{DType::kF32, "<f4"}, Descr{DType::kF64, "<f8"},
    Descr{DType::kBF16, "<V2"}, Descr{DType::kBF16, "|V2"}};

// What follows 'key': in a header, which is a Python dictionary.
std::string_view value_of(std::string_view header, std::string_view key, const std::string& name) {
  const size_t at = header.find(fmt::format("'{}':", key));
  if (at == header.npos) throw Error(name, "a .npy header without '{}'", key);
  header.remove_prefix(at + key.size() + 3);
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

DType dtype_of_header(std::string_view header, const std::string& name) {
  std::string_view descr = value_of(header, "descr", name);
  if (descr.starts_with("'")) {
    descr.remove_prefix(1);
    descr = descr.substr(0, descr.find('\''));
    for (const Descr& d : kDescrs) {
      if (d.name == descr) return d.dtype;
    }
  }
  throw Error(name,
              "dtype {} is none of Centavo's; save it with one that is, as .astype('float32')",
              descr.substr(0, 20));
}

Shape shape_of_header(std::string_view header, const std::string& name) {
  std::string_view text = value_of(header, "shape", name);
  std::vector<int64_t> dims;
  int64_t elements = 1;
  const char *at = text.data() + 1, *end = text.data() + text.size();
  while (text.starts_with('(') && at < end && *at != ')') {
    int64_t extent = 0;
    auto [stop, error] = std::from_chars(at, end, extent);
    if (error != std::errc() || extent < 0 || extent > kMaxElements ||
        (elements *= std::max<int64_t>(extent, 1)) > kMaxElements)
      throw Error(name, "a .npy header whose shape cannot be read");
    dims.push_back(extent);
    at = stop;
    while (at < end && (*at == ',' || *at == ' ')) ++at;
  }
  if (!text.starts_with('(') || at >= end)
    throw Error(name, "a .npy header whose shape cannot be read");
  return Shape(dims);
}

}  // namespace

NpyArray read_npy(const std::filesystem::path& path) {
  const std::string name = path.string(), file = read_file(path);
  if (!file.starts_with(kMagic) || file.size() < 12)
    throw Error(name, "not a .npy file; write one with numpy.save");
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(file[i])); };
  // Version 1 has a length of two bytes, later ones four.
  const bool short_length = byte(6) == 1;
  const size_t start = short_length ? 10 : 12;
  const size_t length = short_length ? byte(8) | byte(9) << 8
                                     : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (length > file.size() - start) throw Error(name, "the file ends in its header");
  const std::string_view header = std::string_view(file).substr(start, length);
  if (value_of(header, "fortran_order", name).starts_with("True"))
    throw Error(name, "column-major; save numpy.ascontiguousarray of it");
  NpyArray array{{dtype_of_header(header, name), shape_of_header(header, name)}, {}};
  const size_t bytes = file.size() - start - length;
  if (static_cast<int64_t>(bytes) != array.type.bytes())
    throw Error(name, "{} bytes of data for {}", bytes, to_string(array.type));
  array.data.resize(bytes);
  std::memcpy(array.data.data(), file.data() + start + length, bytes);
  return array;
}

void write_npy(const std::filesystem::path& path, const TensorType& type, const void* data) {
  std::string_view descr;
  for (const Descr& d : kDescrs) {
    if (d.dtype == type.dtype && descr.empty()) descr = d.name;
  }
  std::string shape = fmt::format("{}", fmt::join(type.shape, ", "));
  if (type.shape.rank() == 1) shape += ",";
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  // The data start at a multiple of 64.
  const size_t start = kMagic.size() + 4;
  header.append(63 - (start + header.size()) % 64, ' ');
  header += '\n';
  std::string file(kMagic);
  file += {'\x01', '\x00', static_cast<char>(header.size() & 0xff),
           static_cast<char>(header.size() >> 8)};
  file += header;
  file.append(static_cast<const char*>(data), static_cast<size_t>(type.bytes()));
  atomic_write_file(path, file);
}

}  // namespace centavo::io
