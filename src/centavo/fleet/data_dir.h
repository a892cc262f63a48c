// Where the fleet catalogue's files are, and where the user's own are kept.
#pragma once

#include <filesystem>

namespace centavo::fleet {

// The directory of data/fleet: $CENTAVO_FLEET_DIR if set, else ../share/centavo/fleet beside the
// running program, else the source tree this library was built from, else the install prefix.
// Throws Error when none holds a catalogue.
std::filesystem::path data_dir();

// Where a user's imports are kept: $XDG_DATA_HOME/centavo/fleet, by default
// ~/.local/share/centavo/fleet.
std::filesystem::path user_dir();

}  // namespace centavo::fleet
