// Cores that this process was bound to.
#pragma once

#include <bitset>

namespace centavo::dist {

using CoreSet = std::bitset<1024>;
CoreSet bound_cores();

}  // namespace centavo::dist
