// Formatting of places and the abort behind CENTAVO_CHECK.
#include "centavo/base/error.h"

#include <cstdio>
#include <cstdlib>

namespace centavo {

std::string to_string(const Loc& loc) {
  std::string_view file = loc.file_name();
  if (file.empty() || loc.line() == 0) return {};
  if (auto slash = file.rfind('/'); slash != file.npos) file.remove_prefix(slash + 1);
  return fmt::format("{}:{}", file, loc.line());
}

void check_failed(const char* condition, const std::string& message, const Loc& loc) {
  fmt::print(stderr,
             "centavo: internal error at {}: {}{}{}\nThis is a bug in centavo; please report it.\n",
             to_string(loc), condition, message.empty() ? "" : ": ", message);
  std::fflush(stderr);
  std::abort();
}

}  // namespace centavo
