// The file: u64 header size, a JSON header padded with spaces, then the data. Little-endian
// machines only.
#include "centavo/io/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "centavo/base/error.h"
#include "centavo/base/text.h"
#include "centavo/io/json.h"

namespace centavo::io {
namespace {

static_assert(std::endian::native == std::endian::little, "the format's byte order is the file's");

constexpr uint64_t kMaxHeader = 100'000'000;  // the format's own limit
constexpr size_t kAlignment = 64;
constexpr const char* kMetadataKey = "__metadata__";

struct DTypeName {
  DType dtype;
  const char* name;
};
constexpr DTypeName kDTypeNames[] = {
    {DType::kBool, "BOOL"}, {DType::kU8, "U8"},   {DType::kI8, "I8"},   {DType::kI32, "I32"},
    {DType::kU32, "U32"},   {DType::kI64, "I64"}, {DType::kU64, "U64"}, {DType::kBF16, "BF16"},
    {DType::kF32, "F32"},   {DType::kF64, "F64"},
};

const char* file_name_of(DType dtype) {
  return std::ranges::find(kDTypeNames, dtype, &DTypeName::dtype)->name;
}

// Reads one header; every complaint names the file.
class HeaderReader {
 public:
  HeaderReader(const std::filesystem::path& path, std::span<const std::byte> file)
      : path_(path.string()), file_(file) {}

  void read(Metadata& metadata, std::vector<NamedTensor>& tensors) {
    const nlohmann::json header = header_json();
    for (const auto& [name, value] : header.items()) {
      if (name == kMetadataKey) {
        metadata = read_metadata(value);
      } else {
        tensors.push_back(read_tensor(name, value));
      }
    }
    std::ranges::stable_sort(tensors, {}, [](const NamedTensor& t) {
      return std::pair(t.data, t.type.bytes());  // an empty tensor before the one at the same place
    });
    check_cover(tensors);
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw Error("safetensors", "{}: {}; write or download it again", path_,
                fmt::format(format, std::forward<Args>(args)...));
  }

  nlohmann::json header_json() {
    uint64_t size = 0;
    if (file_.size() < sizeof size) fail("{} bytes are too few for a header", file_.size());
    std::memcpy(&size, file_.data(), sizeof size);
    if (size > kMaxHeader) fail("not a safetensors file (header of {} bytes)", size);
    if (size > file_.size() - sizeof size)
      fail("cut off: the header has {} bytes, the file {}", size, file_.size());
    std::string_view text(reinterpret_cast<const char*>(file_.data()) + sizeof size, size);
    if (!text.starts_with('{')) fail("not a safetensors file (header does not start with '{{')");
    data_ = file_.subspan(sizeof size + size);
    return parse_json(text, "safetensors " + path_);
  }

  Metadata read_metadata(const Json& value) const {
    if (!value.is_object()) fail("{} is no object", kMetadataKey);
    Metadata metadata;
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) fail("{} '{}' is no string", kMetadataKey, key);
      metadata[key] = text.get<std::string>();
    }
    return metadata;
  }

  uint64_t read_unsigned(const Json& value, const std::string& name) const {
    if (!value.is_number_unsigned()) fail("tensor '{}': shape or offset is no whole number", name);
    return value.get<uint64_t>();
  }

  NamedTensor read_tensor(const std::string& name, const Json& value) const {
    if (!value.is_object() || value.size() != 3 || !value.contains("dtype") ||
        !value.contains("shape") || !value.contains("data_offsets") ||
        !value["dtype"].is_string() || !value["shape"].is_array() ||
        !value["data_offsets"].is_array() || value["data_offsets"].size() != 2) {
      fail("tensor '{}' is not described by dtype, shape and data_offsets", name);
    }
    const auto dtype_name = value["dtype"].get<std::string>();
    const auto* dtype = std::ranges::find(kDTypeNames, dtype_name, &DTypeName::name);
    if (dtype == std::end(kDTypeNames)) {
      throw Error(
          "safetensors",
          "{}: tensor '{}' has dtype {}, which Centavo does not compute with; convert it to F32",
          path_, name, dtype_name);
    }
    const uint64_t begin = read_unsigned(value["data_offsets"][0], name);
    const uint64_t end = read_unsigned(value["data_offsets"][1], name);
    if (begin > end || end > data_.size())
      fail("cut off: tensor '{}' lies at {}..{} of {} bytes", name, begin, end, data_.size());

    std::vector<int64_t> dims;
    uint64_t bytes = static_cast<uint64_t>(size_of(dtype->dtype));
    for (const Json& extent : value["shape"]) {
      const uint64_t n = read_unsigned(extent, name);
      // No product of extents may wrap round, not even beside a zero.
      if (n > uint64_t{1} << 48 ||
          __builtin_mul_overflow(bytes, std::max<uint64_t>(n, 1), &bytes) ||
          bytes > uint64_t{1} << 62) {
        fail("tensor '{}' has an impossible shape", name);
      }
      dims.push_back(static_cast<int64_t>(n));
    }
    NamedTensor tensor{name, {dtype->dtype, Shape(std::move(dims))}, data_.data() + begin};
    if (static_cast<uint64_t>(tensor.type.bytes()) != end - begin)
      fail("tensor '{}' is {} but has {} bytes", name, to_string(tensor.type), end - begin);
    return tensor;
  }

  void check_cover(std::span<const NamedTensor> tensors) const {
    const std::byte* place = data_.data();
    for (const NamedTensor& t : tensors) {
      if (t.data != place) fail("tensor '{}' overlaps its neighbour or leaves a hole", t.name);
      place += t.type.bytes();
    }
    if (place != data_.data() + data_.size()) fail("bytes after the last tensor");
  }

  std::string path_;
  std::span<const std::byte> file_, data_;
};

std::string header_text(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                        const Metadata& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header[kMetadataKey] = metadata;
  int64_t offset = 0;
  for (const NamedTensor& t : tensors) {
    if (t.name == kMetadataKey || header.contains(t.name))
      throw Error("safetensors", "{}: two entries are named '{}'", path.string(), t.name);
    const int64_t end = offset + t.type.bytes();
    header[t.name] = {{"dtype", file_name_of(t.type.dtype)},
                      {"shape", t.type.shape.dims()},
                      {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  const size_t used = sizeof(uint64_t) + text.size();
  text.append((kAlignment - used % kAlignment) % kAlignment, ' ');
  return text;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : path_(path), file_(path) {
  HeaderReader(path, file_.bytes()).read(metadata_, tensors_);
  for (size_t i = 0; i < tensors_.size(); ++i) by_name_.emplace(tensors_[i].name, i);
}

const NamedTensor* SafetensorsFile::find(std::string_view name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &tensors_[it->second];
}

const NamedTensor& SafetensorsFile::at(std::string_view name) const {
  if (const NamedTensor* tensor = find(name)) return *tensor;
  std::vector<std::string> names;
  for (const NamedTensor& t : tensors_) names.push_back(t.name);
  throw Error("safetensors", "{} has no tensor '{}'{}", path_.string(), name,
              did_you_mean(name, names));
}

void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       const Metadata& metadata) {
  const std::string header = header_text(path, tensors, metadata);
  if (header.size() > kMaxHeader)
    throw Error("safetensors", "{}: a header of {} is over the format's 100 MB", path.string(),
                human_bytes(static_cast<double>(header.size())));
  const uint64_t size = header.size();
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(&size, 1)));
  file.write(header);
  for (const NamedTensor& t : tensors) file.write({t.data, static_cast<size_t>(t.type.bytes())});
  file.commit();
}

}  // namespace centavo::io
