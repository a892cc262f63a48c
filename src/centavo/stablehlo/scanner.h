// Scanner: a cursor over MLIR text that reads its smallest parts. Everything skips white space and
// // comments first, and throws Error with the place where it failed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "centavo/stablehlo/source.h"

namespace centavo::stablehlo {

class Scanner {
 public:
  explicit Scanner(const Source& source, size_t at = 0) : source_(source), at_(at) {}

  const Source& source() const { return source_; }
  // Offset of the next token; the text's size at the end.
  size_t position();
  // Offset behind the last token.
  size_t offset() const { return at_; }
  void move_to(size_t at) { at_ = at; }
  bool at_end() { return position() == source_.text.size(); }
  // Is the next character c?
  bool next_is(char c);
  // Does a number come next?
  bool next_is_number();
  // Does the text go on with `token` here? Nothing is consumed.
  bool looking_at(std::string_view token);

  // Consumes `token` if it comes next; a token that ends in a letter must end a word.
  bool accept(std::string_view token);
  void expect(std::string_view token);
  // [A-Za-z_][A-Za-z0-9_$.]*; "" when there is none.
  std::string_view accept_word();
  std::string_view word(std::string_view what);
  // What follows %, @, # or ^ in a name: letters, digits and _$.-
  std::string_view suffix(std::string_view what);
  // A decimal integer with an optional minus.
  int64_t integer();
  // A number as written: -1, 0xFF, 1.5e-3.
  std::string_view number();
  // A string literal with its escapes resolved.
  std::string string();
  // The content of a string literal as written.
  std::string_view raw_string();
  // From an opening bracket to behind its partner; brackets in strings do not count.
  std::string_view balanced();

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
    source_.fail(position(), format, std::forward<Args>(args)...);
  }

 private:
  char at(size_t i) const { return i < source_.text.size() ? source_.text[i] : '\0'; }
  // What comes next, for messages.
  std::string found();

  const Source& source_;
  size_t at_;
};

}  // namespace centavo::stablehlo
