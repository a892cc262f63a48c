// Diagnostics on standard error, one line each. Results go to standard output and never through
// here.
#pragma once

#include <fmt/format.h>
#include <string>
#include <utility>

namespace centavo {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Messages below the level are dropped. Default kInfo; CENTAVO_LOG=debug|info|warning|error sets
// it.
void set_log_level(LogLevel level);
// Prefix of every line, e.g. "rank 3: "; empty by default.
void set_log_prefix(std::string prefix);
// Thread-safe; one write a line.
void log_line(LogLevel level, const std::string& message);
// Logs a message the first time this process sees it.
void log_once(LogLevel level, const std::string& message);

template <class... Args>
void log_debug(fmt::format_string<Args...> f, Args&&... args) {
  log_line(LogLevel::kDebug, fmt::format(f, std::forward<Args>(args)...));
}
template <class... Args>
void log_info(fmt::format_string<Args...> f, Args&&... args) {
  log_line(LogLevel::kInfo, fmt::format(f, std::forward<Args>(args)...));
}
template <class... Args>
void log_warning(fmt::format_string<Args...> f, Args&&... args) {
  log_line(LogLevel::kWarning, fmt::format(f, std::forward<Args>(args)...));
}

}  // namespace centavo
