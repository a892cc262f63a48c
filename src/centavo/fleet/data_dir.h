// Where the fleet catalogue's files are.
#pragma once

#include <filesystem>
#include <string_view>

namespace centavo::fleet {

// The directory of data/fleet: $CENTAVO_FLEET_DIR if set, else ../share/centavo/fleet beside the
// running program, else the source tree this library was built from, else the install prefix.
// Throws Error when none holds a catalogue.
std::filesystem::path data_dir();

// The text of one file below `dir`; throws Error when it cannot be read.
std::string read_file(const std::filesystem::path& path);

}  // namespace centavo::fleet
