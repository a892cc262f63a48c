// Words for people: the nearest name to a misspelt one, counts and sizes and durations in short
// form.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace centavo {

// The candidate with the smallest edit distance to `word` if that is small enough to be a slip,
// else "".
std::string nearest_name(std::string_view word, std::span<const std::string> candidates);
// "; did you mean 'x'?" for the nearest name, or "" when none is near. Ends an error message.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

std::string with_thousands(int64_t n);      // 86,567,656
std::string human_bytes(double bytes);      // 330.2 MiB
std::string human_seconds(double seconds);  // 812 ms, 4.96 s, 3 m 20 s, 2 h 05 m
bool glob_match(std::string_view pattern, std::string_view text);  // '*' and '?' only
// Order in which people sort names: "img2" before "img10", case aside. What timm's natural_key gives;
// names that differ in case alone keep their bytes' order.
bool natural_less(std::string_view a, std::string_view b);
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);

}  // namespace centavo
