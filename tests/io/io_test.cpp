// Files written whole or not at all, CSV and JSON lines.
#include <cmath>
#include <csignal>
#include <gmock/gmock.h>
#include <sys/resource.h>

#include "tests/temp_dir.h"

#include "centavo/base/error.h"
#include "centavo/io/csv.h"
#include "centavo/io/file.h"
#include "centavo/io/json.h"
#include "centavo/io/toml_reader.h"
#include "centavo/io/toml_writer.h"

namespace centavo::io {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

size_t files_in(const fs::path& directory) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(directory), {}));
}

TEST(AtomicFile, AppearsOnlyWhenCommitted) {
  TempDir dir;
  const fs::path path = dir / "a";
  atomic_write_file(path, "old");
  {
    AtomicFile file(path);
    file.write("new");
    EXPECT_EQ(read_file(path), "old");
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(files_in(dir.path()), 1u);
  AtomicFile file(path);
  file.write("ne");
  file.write("wer");
  file.commit();
  EXPECT_EQ(read_file(path), "newer");
  EXPECT_EQ(files_in(dir.path()), 1u);
}

// A limit on the size of files stands in for a full disk: write() fails half-way in the same
// manner.
TEST(AtomicFile, FullDiskLeavesTheOldFile) {
  TempDir dir;
  const fs::path path = dir / "a";
  atomic_write_file(path, "old");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit tight{4096, before.rlim_max};
  std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &tight);
  const std::string message = error_of([&] { atomic_write_file(path, std::string(10000, 'x')); });
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_THAT(message, AllOf(HasSubstr("cannot write " + path.string()), HasSubstr("ulimit")));
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(files_in(dir.path()), 1u);
}

TEST(File, FullDeviceSaysSo) {
  AppendFile file("/dev/full");
  EXPECT_THAT(error_of([&] { file.append("x"); }), HasSubstr("free some space"));
}

TEST(OutputDirectory, IsMadeWithItsParents) {
  TempDir dir;
  make_output_directory(dir / "a/b/c");
  make_output_directory(dir / "a/b/c");
  EXPECT_TRUE(fs::is_empty(dir / "a/b/c"));
}

TEST(OutputDirectory, UnwritableIsOneClearError) {
  TempDir dir;
  atomic_write_file(dir / "file", "");
  EXPECT_THAT(error_of([&] { make_output_directory(dir / "file/run"); }),
              AllOf(HasSubstr("file/run"), HasSubstr("a part of the path is a file")));
  EXPECT_NE(error_of([&] { make_output_directory("/proc/centavo"); }), "");
}

TEST(MappedFile, EmptyFileHasNoBytes) {
  TempDir dir;
  atomic_write_file(dir / "empty", "");
  EXPECT_TRUE(MappedFile(dir / "empty").bytes().empty());
}

TEST(Csv, HeaderOnceThenRows) {
  TempDir dir;
  const fs::path path = dir / "summary.csv";
  const std::vector<std::string> columns = {"epoch", "train_loss", "note"};
  CsvWriter(path, columns).append({int64_t{0}, 0.1, "plain"});
  CsvWriter(path, columns).append({int64_t{1}, std::monostate{}, "a, \"b\""});
  EXPECT_EQ(read_file(path), "epoch,train_loss,note\n0,0.1,plain\n1,,\"a, \"\"b\"\"\"\n");
}

TEST(Csv, NumbersReadBackExactly) {
  for (double x : {1.0 / 3, 1e-300, -0.0, 12345678.9, 5e-324})
    EXPECT_EQ(std::strtod(csv_row(std::vector<CsvCell>{x}).c_str(), nullptr), x);
}

TEST(Csv, OtherColumnsAreAnError) {
  TempDir dir;
  CsvWriter(dir / "s.csv", {"epoch", "loss"});
  EXPECT_THAT(error_of([&] {
                CsvWriter(dir / "s.csv", {"epoch", "lr"});
              }),
              HasSubstr("'epoch,loss'"));
}

TEST(Csv, RowCutShortByACrashIsEnded) {
  TempDir dir;
  atomic_write_file(dir / "s.csv", "epoch,loss\n0,0.");
  CsvWriter(dir / "s.csv", {"epoch", "loss"}).append({int64_t{1}, 0.5});
  EXPECT_EQ(read_file(dir / "s.csv"), "epoch,loss\n0,0.\n1,0.5\n");
}

TEST(Jsonl, OneObjectALine) {
  TempDir dir;
  JsonlWriter writer(dir / "m.jsonl");
  writer.append({{"step", 1}, {"loss", 0.5}, {"text", "a\nb"}});
  writer.append({{"step", 2}, {"loss", std::nan("")}});
  EXPECT_EQ(read_file(dir / "m.jsonl"),
            "{\"step\":1,\"loss\":0.5,\"text\":\"a\\nb\"}\n{\"step\":2,\"loss\":null}\n");
}

TEST(Toml, WordsReadBackAsTheyWereWritten) {
  TempDir dir;
  const std::vector<std::string> words = {"3",   "-0.5",       "1e-05", "true",
                                          "a b", "say \"x\"",  "a\\b",  "line\n2",
                                          "007", "2024-01-01", "+5",    "\u00e9"};
  std::vector<TomlSetting> settings = {{"all", words, true}};
  for (size_t i = 0; i < words.size(); ++i)
    settings.push_back({"word-" + std::to_string(i), {words[i]}});
  atomic_write_file(dir / "c.toml", toml_text(settings));
  TomlFile file(dir / "c.toml");
  TomlTable table = file.root();
  EXPECT_EQ(table.words("all"), words);
  for (size_t i = 0; i < words.size(); ++i)
    EXPECT_EQ(table.words("word-" + std::to_string(i)), std::vector<std::string>{words[i]});
  EXPECT_THAT(read_file(dir / "c.toml"), HasSubstr("word-1 = -0.5\nword-2 = 1e-05\n"));
}

TEST(Json, KeyTwiceIsAnError) {
  EXPECT_EQ(parse_json(R"({"a":{"x":1},"b":{"x":2}})", "test")["b"]["x"], 2);
  EXPECT_THAT(error_of([] { parse_json(R"({"a":{"x":1,"x":2}})", "test"); }),
              HasSubstr("[test] JSON key 'x' comes twice"));
}

}  // namespace
}  // namespace centavo::io
