// Error: what a user did wrong, thrown where the call is made. CENTAVO_CHECK: what we did wrong; it
// aborts.
#pragma once

#include <fmt/format.h>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace centavo {

// A user's mistake or the environment's failure. what() reads `[topic] message`, where the topic is
// the op, command, file or option concerned and the message says what to do next.
class Error : public std::runtime_error {
 public:
  template <class... Args>
  Error(std::string_view topic, fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error("[" + std::string(topic) + "] " +
                           fmt::format(format, std::forward<Args>(args)...)) {}
  explicit Error(const std::string& message) : std::runtime_error(message) {}
};

// Where in the user's program something was recorded.
using Loc = std::source_location;
// "train.cpp:41"; empty for an unknown place.
std::string to_string(const Loc& loc);

[[noreturn]] void check_failed(const char* condition, const std::string& message, const Loc& loc);

namespace detail {
inline std::string check_message() {
  return {};
}
template <class... Args>
std::string check_message(fmt::format_string<Args...> format, Args&&... args) {
  return fmt::format(format, std::forward<Args>(args)...);
}
}  // namespace detail

}  // namespace centavo

// CENTAVO_CHECK(condition) or CENTAVO_CHECK(condition, "format", args...)
#define CENTAVO_CHECK(condition, ...)                                                    \
  do {                                                                                   \
    if (!(condition)) [[unlikely]]                                                       \
      ::centavo::check_failed(#condition, ::centavo::detail::check_message(__VA_ARGS__), \
                              std::source_location::current());                          \
  } while (false)
#define CENTAVO_UNREACHABLE() \
  ::centavo::check_failed("unreachable", {}, std::source_location::current())
