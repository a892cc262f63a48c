// One self-contained HTML page of a comparison.
#pragma once

#include <string>

#include "centavo/fleet/compare.h"

namespace centavo::fleet {

// The page of data/fleet/report.html with the comparison's figures in it: no network, light and
// dark, narrow and wide.
std::string report_html(const Comparison& comparison);

}  // namespace centavo::fleet
