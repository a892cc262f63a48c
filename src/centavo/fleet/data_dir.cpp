// Finds the catalogue's directory. CENTAVO_FLEET_SOURCE_DIR and CENTAVO_FLEET_INSTALL_DIR come from
// the build.
#include "centavo/fleet/data_dir.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "centavo/base/error.h"

namespace centavo::fleet {

std::filesystem::path data_dir() {
  namespace fs = std::filesystem;
  const auto complete = [](const fs::path& dir) { return fs::exists(dir / "instances.toml"); };
  if (const char* dir = std::getenv("CENTAVO_FLEET_DIR")) {
    if (!complete(dir)) throw Error("fleet", "CENTAVO_FLEET_DIR={} holds no instances.toml", dir);
    return dir;
  }
  std::error_code none;
  const fs::path program = fs::read_symlink("/proc/self/exe", none);
  for (const fs::path& dir :
       {program.parent_path().parent_path() / "share/centavo/fleet",
        fs::path(CENTAVO_FLEET_SOURCE_DIR), fs::path(CENTAVO_FLEET_INSTALL_DIR)})
    if (complete(dir)) return dir;
  throw Error("fleet",
              "no instance catalogue in {} or {}; set CENTAVO_FLEET_DIR to a copy of data/fleet",
              CENTAVO_FLEET_SOURCE_DIR, CENTAVO_FLEET_INSTALL_DIR);
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  if (!in.is_open() || in.bad()) throw Error(path.string(), "cannot be read");
  return text;
}

}  // namespace centavo::fleet
