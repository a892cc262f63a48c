// The text of a module and where in it something went wrong.
#pragma once

#include <string>
#include <string_view>

#include "centavo/base/error.h"

namespace centavo::stablehlo {

// A module that cannot be read; what() starts with the place, "[step.mlir:3:17]".
class ModuleError : public Error {
 public:
  using Error::Error;
};
// Valid StableHLO that Centavo cannot run: an op, element type or attribute that it lacks.
class Unsupported : public ModuleError {
 public:
  using ModuleError::ModuleError;
};

struct Source {
  std::string_view text;
  std::string name;  // the file's, for messages

  // "step.mlir:3:17", both counted from 1, of the byte at offset `at`.
  std::string place(size_t at) const;
  // Throws ModuleError "[place] reason".
  template <class... Args>
  [[noreturn]] void fail(size_t at, fmt::format_string<Args...> format, Args&&... args) const {
    throw ModuleError(place(at), format, std::forward<Args>(args)...);
  }
  // Throws Unsupported "[place] unsupported: what".
  template <class... Args>
  [[noreturn]] void unsupported(size_t at, fmt::format_string<Args...> format,
                                Args&&... args) const {
    throw Unsupported(place(at), "unsupported: {}",
                      fmt::format(format, std::forward<Args>(args)...));
  }
};

}  // namespace centavo::stablehlo
