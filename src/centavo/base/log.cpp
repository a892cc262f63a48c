// The log's one writer.
#include "centavo/base/log.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string_view>

namespace centavo {
namespace {

LogLevel level_from_environment() {
  const char* text = std::getenv("CENTAVO_LOG");
  std::string_view name = text ? text : "info";
  if (name == "debug") return LogLevel::kDebug;
  if (name == "warning") return LogLevel::kWarning;
  if (name == "error") return LogLevel::kError;
  return LogLevel::kInfo;
}

struct State {
  std::atomic<LogLevel> level{level_from_environment()};
  std::mutex mutex;
  std::string prefix;
  std::set<std::string> seen;
};
State& state() {
  static State s;
  return s;
}

constexpr const char* kTags[] = {"debug: ", "", "warning: ", "error: "};

}  // namespace

void set_log_level(LogLevel level) {
  state().level = level;
}

void set_log_prefix(std::string prefix) {
  std::lock_guard lock(state().mutex);
  state().prefix = std::move(prefix);
}

void log_line(LogLevel level, const std::string& message) {
  if (level < state().level.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(state().mutex);
  std::string line = state().prefix + kTags[static_cast<int>(level)] + message + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void log_once(LogLevel level, const std::string& message) {
  {
    std::lock_guard lock(state().mutex);
    if (!state().seen.insert(message).second) return;
  }
  log_line(level, message);
}

}  // namespace centavo
