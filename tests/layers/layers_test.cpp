// Reads every #include under src/centavo and fails on one that points the wrong way: a lower layer using a
// higher one, or a third-party library's header outside the one folder that owns it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = fs::path(CENTAVO_SOURCE_DIR) / "src" / "centavo";

// What each layer may include besides itself (docs/architecture.md).
const std::map<std::string, std::set<std::string>> kMayUse = [] {
  std::map<std::string, std::set<std::string>> m;
  m["base"] = {};
  m["ir"] = {"base"};
  m["ops"] = {"base", "ir"};
  m["autodiff"] = m["passes"] = m["plan"] = {"base", "ir", "ops"};
  m["stablehlo"] = {"base", "ir", "ops", "passes"};
  m["backend"] = {"base", "ir", "ops", "passes", "plan", "dist"};
  m["runtime"] = {"base", "ir", "ops", "autodiff", "passes", "plan", "backend", "dist"};
  m["io"] = m["data"] = m["dist"] = {"base", "io"};
  m["fleet"] = {"base", "io", "ir", "ops"};
  m["nn"] = m["optim"] = {"base", "ir", "ops", "autodiff", "backend", "runtime", "io"};
  m["models"] = {"base", "ir", "ops", "autodiff", "backend", "runtime", "io", "nn"};
  m["train"] = {"base", "ir", "ops", "autodiff", "passes", "plan", "backend", "runtime", "io", "data", "dist", "nn",
                "optim", "models"};
  m["cli"] = m["train"];
  m["cli"].insert({"train", "fleet", "stablehlo"});
  return m;
}();

// Third-party headers by their first component, and the folder that owns them.
const std::map<std::string, std::set<std::string>> kOwners = {
    {"CLI", {"cli"}},           {"mpi.h", {"dist"}},      {"nlohmann", {"io"}},    {"hwy", {"backend", "data"}},
    {"dnnl.hpp", {"backend"}},  {"toml++", {"io"}},       {"toml.hpp", {"io"}},    {"zlib.h", {"data"}},
    {"jpeglib.h", {"data"}},    {"turbojpeg.h", {"data"}}, {"png.h", {"data"}},    {"spng.h", {"data"}},
    {"archive.h", {"data"}},    {"nlopt.hpp", {"fleet"}}, {"libfccp", {"fleet"}},        {"webp", {"data"}},       {"curl", {"fleet"}},
};

struct Include {
  fs::path file;
  std::string folder, target;
};

std::vector<Include> all_includes() {
  static const std::regex pattern(R"(^\s*#include\s+[<"]([^">]+)[">])");
  std::vector<Include> found;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot)) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".h" && extension != ".cpp" && extension != ".def") continue;
    std::ifstream in(entry.path());
    std::string folder = fs::relative(entry.path(), kRoot).begin()->string();
    for (std::string line; std::getline(in, line);) {
      std::smatch match;
      if (std::regex_search(line, match, pattern)) found.push_back({entry.path(), folder, match[1]});
    }
  }
  return found;
}

std::string first_component(const std::string& path) { return fs::path(path).begin()->string(); }

TEST(Layers, IncludesPointOneWay) {
  std::vector<Include> includes = all_includes();
  ASSERT_GT(includes.size(), 100u);
  for (const Include& include : includes) {
    if (first_component(include.target) != "centavo") continue;
    std::string target = std::next(fs::path(include.target).begin())->string();
    if (!include.folder.ends_with(".h") && target != include.folder) {
      ASSERT_TRUE(kMayUse.contains(include.folder)) << "unknown layer " << include.folder;
      EXPECT_TRUE(kMayUse.at(include.folder).contains(target)) << include.file << " includes " << include.target;
    }
  }
}

TEST(Layers, ThirdPartyHeadersStayInTheirFolder) {
  for (const Include& include : all_includes()) {
    auto owner = kOwners.find(first_component(include.target));
    if (owner == kOwners.end()) continue;
    EXPECT_TRUE(owner->second.contains(include.folder)) << include.file << " includes " << include.target;
  }
}

}  // namespace
