// Brace patterns of shells and of WebDataset: one string for many file names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace centavo::data {

// "a-{000..002}.tar" gives a-000.tar, a-001.tar and a-002.tar; "{x,y}" gives x and y; several
// braces give every combination, the last changing fastest. Braces do not nest. Throws Error for an
// unclosed brace, a range that falls, or more than 1,000,000 names.
std::vector<std::string> expand_braces(std::string_view pattern);

}  // namespace centavo::data
