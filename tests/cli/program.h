// Runs the program as a user does, and makes it small data.
#pragma once

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/wait.h>

namespace centavo {

struct Outcome {
  int code;
  std::string out;  // standard output and error
};

inline Outcome run(const std::string& arguments, const std::string& environment = "") {
  std::string command =
      environment + std::string(CENTAVO_PROGRAM) + " " + arguments + " 2>&1 </dev/null";
  FILE* pipe = popen(command.c_str(), "r");
  std::string out;
  std::array<char, 4096> buffer;
  while (size_t n = fread(buffer.data(), 1, buffer.size(), pipe)) out.append(buffer.data(), n);
  int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out};
}

// The JSON that a command prints, without the warnings that depend on the machine.
inline nlohmann::json run_json(const std::string& arguments) {
  const Outcome outcome = run(arguments + " --format json", "CENTAVO_LOG=error ");
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  return nlohmann::json::parse(outcome.out, nullptr, false);
}

inline void expect_failure(const std::string& arguments, int code, const std::string& message) {
  Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.code, code) << arguments << "\n" << outcome.out;
  EXPECT_THAT(outcome.out, testing::HasSubstr(message)) << arguments;
  EXPECT_THAT(outcome.out, testing::Not(testing::HasSubstr("terminate called"))) << arguments;
}

// An IDX pair of `count` images of 4x4 for both splits; `label` gives each its class.
template <class Label>
void write_idx(const std::filesystem::path& folder, int count, Label label) {
  auto big_endian = [](std::ofstream& out, uint32_t x) {
    for (int shift = 24; shift >= 0; shift -= 8) out.put(static_cast<char>(x >> shift & 0xff));
  };
  for (const char* split : {"train", "t10k"}) {
    std::ofstream images(folder / (std::string(split) + "-images-idx3-ubyte"), std::ios::binary);
    for (uint32_t x : {0x803u, static_cast<uint32_t>(count), 4u, 4u}) big_endian(images, x);
    for (int i = 0; i < count * 16; ++i) images.put(static_cast<char>(i * 37 % 251));
    std::ofstream labels(folder / (std::string(split) + "-labels-idx1-ubyte"), std::ios::binary);
    for (uint32_t x : {0x801u, static_cast<uint32_t>(count)}) big_endian(labels, x);
    for (int i = 0; i < count; ++i) labels.put(static_cast<char>(label(i)));
  }
}

inline const std::string kSmall = "--model mlp --hidden 8 --precision fp32 --threads 1 ";

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace centavo
