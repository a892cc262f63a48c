// safetensors: what is written reads back; whatever is damaged is an Error and never a crash.
#include "centavo/io/safetensors.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <gmock/gmock.h>

#include "tests/memory_file.h"
#include "tests/temp_dir.h"

#include "centavo/base/philox.h"

namespace centavo::io {
namespace {

using testing::HasSubstr;

struct Owned {
  std::vector<std::vector<std::byte>> data;
  std::vector<NamedTensor> tensors;

  void add(std::string name, TensorType type, Philox& rng) {
    auto& bytes = data.emplace_back(static_cast<size_t>(type.bytes()));
    for (std::byte& b : bytes) b = static_cast<std::byte>(rng.next_u32());
    tensors.push_back({std::move(name), std::move(type), bytes.data()});
  }
};

Owned random_tensors(uint64_t seed) {
  Philox rng(seed);
  Owned owned;
  owned.add("blocks.0.attn.qkv.weight", {DType::kF32, {3, 5}}, rng);
  owned.add("scalar", {DType::kF64, {}}, rng);
  owned.add("empty", {DType::kI64, {4, 0, 2}}, rng);
  owned.add("odd", {DType::kU8, {7}}, rng);
  owned.add("half", {DType::kBF16, {2, 3, 1}}, rng);
  owned.add("name with \"quotes\" and é", {DType::kI32, {1}}, rng);
  return owned;
}

std::string content(const std::filesystem::path& path) {
  return read_file(path);
}

void put(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// A file with this header, followed by `size` zero bytes.
std::string file_with(std::string_view header, size_t size) {
  std::string file(8, '\0');
  const uint64_t n = header.size();
  std::memcpy(file.data(), &n, 8);
  return file.append(header).append(size, '\0');
}

std::string error_of(const std::filesystem::path& path) {
  try {
    SafetensorsFile file(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Safetensors, RoundTrip) {
  TempDir dir;
  const Owned owned = random_tensors(1);
  write_safetensors(dir / "w.safetensors", owned.tensors, {{"format", "pt"}, {"model", "vit"}});
  const SafetensorsFile file(dir / "w.safetensors");
  EXPECT_EQ(file.metadata(), (Metadata{{"format", "pt"}, {"model", "vit"}}));
  ASSERT_EQ(file.tensors().size(), owned.tensors.size());
  for (const NamedTensor& expected : owned.tensors) {
    const NamedTensor& actual = file.at(expected.name);
    EXPECT_EQ(actual.type, expected.type);
    EXPECT_TRUE(std::equal(expected.data, expected.data + expected.type.bytes(), actual.data))
        << expected.name;
  }
  EXPECT_EQ(reinterpret_cast<uintptr_t>(file.tensors().front().data) % 64, 0u);
  EXPECT_EQ(file.find("nothing"), nullptr);
}

TEST(Safetensors, NearestNameIsOffered) {
  TempDir dir;
  const Owned owned = random_tensors(2);
  write_safetensors(dir / "w.safetensors", owned.tensors);
  const SafetensorsFile file(dir / "w.safetensors");
  try {
    file.at("blocks.0.attn.kqv.weight");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'blocks.0.attn.qkv.weight'?"));
  }
}

TEST(Safetensors, NamesMustDiffer) {
  TempDir dir;
  Owned owned = random_tensors(3);
  owned.tensors.push_back(owned.tensors.front());
  EXPECT_THROW(write_safetensors(dir / "w.safetensors", owned.tensors), Error);
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(Safetensors, BadHeadersAreNamed) {
  TempDir dir;
  const auto path = dir / "bad.safetensors";
  const std::pair<std::string, const char*> cases[] = {
      {"abc", "too few"},
      {file_with("[]", 0), "does not start with"},
      {file_with("{", 0), "bad JSON"},
      {std::string(8, '\xff'), "not a safetensors file"},
      {file_with("{}", 0).substr(0, 9), "cut off"},
      {file_with("{}", 1), "after the last tensor"},
      {file_with(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 3), "cut off"},
      {file_with(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4), "has 4 bytes"},
      {file_with(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4), "cut off"},
      {file_with(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4),
       "no whole number"},
      {file_with(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,0],"data_offsets":[0,0]}})",
                 0),
       "impossible shape"},
      {file_with(R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}})", 4), "F16"},
      {file_with(R"({"a":{"dtype":"F32","shape":[1]}})", 4), "not described"},
      {file_with(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                 R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                 2),
       "comes twice"},
      {file_with(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                 R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                 3),
       "overlaps"},
      {file_with(R"({"__metadata__":{"a":1}})", 0), "no string"},
      {file_with("{\"a\":" + std::string(100, '[') + std::string(100, ']') + "}", 0), "deeper"},
  };
  for (const auto& [bytes, complaint] : cases) {
    put(path, bytes);
    EXPECT_THAT(error_of(path), AllOf(HasSubstr(path.string()), HasSubstr(complaint))) << bytes;
  }
  EXPECT_THAT(error_of(dir / "absent"), HasSubstr("check the path"));
  EXPECT_THAT(error_of(dir.path()), HasSubstr("directory"));
}

TEST(Safetensors, PaddedHeaderAndEmptyFileAreFine) {
  TempDir dir;
  put(dir / "a", file_with("{}   ", 0));
  EXPECT_TRUE(SafetensorsFile(dir / "a").tensors().empty());
}

// Reads every byte of every tensor, so that the sanitizers see a range that is not there.
void read_or_error(const std::filesystem::path& path) {
  try {
    const SafetensorsFile file(path);
    unsigned sum = 0;
    for (const NamedTensor& t : file.tensors()) {
      for (int64_t i = 0; i < t.type.bytes(); ++i) sum += static_cast<unsigned>(t.data[i]);
    }
    volatile unsigned sink = sum;
    static_cast<void>(sink);
  } catch (const Error&) {
  }
}

TEST(Safetensors, AnyCutIsAnError) {
  TempDir dir;
  const Owned owned = random_tensors(4);
  write_safetensors(dir / "w", owned.tensors);
  const std::string whole = content(dir / "w");
  MemoryFile cut;
  for (size_t n = 0; n < whole.size(); ++n) {
    cut.put(std::string_view(whole).substr(0, n));
    EXPECT_THROW(SafetensorsFile(cut.path()), Error) << n;
  }
}

TEST(Safetensors, FlippedBytesNeverCrash) {
  TempDir dir;
  const Owned owned = random_tensors(5);
  write_safetensors(dir / "w", owned.tensors);
  const std::string whole = content(dir / "w");
  MemoryFile file;
  Philox rng(6);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = whole;
    for (uint64_t flips = 1 + rng.next_below(3); flips > 0; --flips)
      damaged[rng.next_below(damaged.size())] = static_cast<char>(rng.next_u32());
    file.put(damaged);
    read_or_error(file.path());
  }
}

}  // namespace
}  // namespace centavo::io
