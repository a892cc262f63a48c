// Finds the catalogue's directory. CENTAVO_FLEET_SOURCE_DIR and CENTAVO_FLEET_INSTALL_DIR come from
// the build.
#include "centavo/fleet/data_dir.h"

#include <cstdlib>

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

std::filesystem::path user_dir() {
  if (const char* data = std::getenv("XDG_DATA_HOME"); data != nullptr && *data != '\0')
    return std::filesystem::path(data) / "centavo/fleet";
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home != nullptr && *home != '\0' ? home : "/") /
         ".local/share/centavo/fleet";
}

}  // namespace centavo::fleet
