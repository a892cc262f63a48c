// The smallest parts of MLIR text.
#include "centavo/stablehlo/scanner.h"

#include <algorithm>
#include <charconv>

namespace centavo::stablehlo {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool in_word(char c) {
  return is_letter(c) || is_digit(c) || c == '$' || c == '.';
}
bool in_suffix(char c) {
  return in_word(c) || c == '-';
}
bool is_hexadecimal(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
int hexadecimal_value(char c) {
  return is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10;
}
char closing(char opening) {
  switch (opening) {
    case '(':
      return ')';
    case '[':
      return ']';
    case '{':
      return '}';
    case '<':
      return '>';
    default:
      return '\0';
  }
}

}  // namespace

std::string Source::place(size_t at) const {
  const std::string_view before = text.substr(0, std::min(at, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("{}:{}:{}", name, line, before.size() - start + 1);
}

size_t Scanner::position() {
  for (;;) {
    const char c = at(at_);
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '/' && at(at_ + 1) == '/') {
      at_ = std::min(source_.text.find('\n', at_), source_.text.size());
    } else {
      return at_;
    }
  }
}

bool Scanner::next_is(char c) {
  const size_t i = position();
  return i < source_.text.size() && source_.text[i] == c;
}

bool Scanner::next_is_number() {
  const size_t i = position();
  return is_digit(at(i)) || (at(i) == '-' && is_digit(at(i + 1)));
}

bool Scanner::looking_at(std::string_view token) {
  const size_t i = position();
  return source_.text.substr(i).starts_with(token) &&
         !(in_word(token.back()) && in_word(at(i + token.size())));
}

bool Scanner::accept(std::string_view token) {
  if (!looking_at(token)) return false;
  at_ += token.size();
  return true;
}

std::string Scanner::found() {
  const size_t i = position();
  if (i == source_.text.size()) return "the end of the text";
  if (at(i) == '"') return "a string";
  size_t end = i + 1;
  while (end < source_.text.size() && end < i + 24 && in_suffix(source_.text[end])) ++end;
  return fmt::format("'{}'", source_.text.substr(i, end - i));
}

void Scanner::expect(std::string_view token) {
  if (!accept(token)) fail("expected '{}', found {}", token, found());
}

std::string_view Scanner::accept_word() {
  const size_t i = position();
  if (!is_letter(at(i))) return {};
  while (in_word(at(at_))) ++at_;
  return source_.text.substr(i, at_ - i);
}

std::string_view Scanner::word(std::string_view what) {
  const std::string_view w = accept_word();
  if (w.empty()) fail("expected {}, found {}", what, found());
  return w;
}

std::string_view Scanner::suffix(std::string_view what) {
  const size_t i = at_;
  while (in_suffix(at(at_))) ++at_;
  if (at_ == i) fail("expected {}, found {}", what, found());
  return source_.text.substr(i, at_ - i);
}

int64_t Scanner::integer() {
  const size_t i = position();
  int64_t value = 0;
  const char* end = source_.text.data() + source_.text.size();
  auto [stop, error] = std::from_chars(source_.text.data() + i, end, value);
  if (error == std::errc::result_out_of_range) fail("an integer beyond 64 bits");
  if (error != std::errc()) fail("expected an integer, found {}", found());
  at_ = static_cast<size_t>(stop - source_.text.data());
  return value;
}

std::string_view Scanner::number() {
  const size_t i = position();
  if (at(at_) == '-') ++at_;
  if (!is_digit(at(at_))) {
    at_ = i;
    fail("expected a number, found {}", found());
  }
  auto digits = [this] {
    while (is_digit(at(at_))) ++at_;
  };
  if (at(at_) == '0' && at(at_ + 1) == 'x' && is_hexadecimal(at(at_ + 2))) {
    at_ += 2;
    while (is_hexadecimal(at(at_))) ++at_;
  } else {
    digits();
    if (at(at_) == '.') ++at_, digits();
    const size_t exponent = at_;
    if (at(at_) == 'e' || at(at_) == 'E') {
      ++at_;
      if (at(at_) == '-' || at(at_) == '+') ++at_;
      if (!is_digit(at(at_))) at_ = exponent;
      digits();
    }
  }
  return source_.text.substr(i, at_ - i);
}

std::string_view Scanner::raw_string() {
  expect("\"");
  const size_t start = at_;
  for (;; ++at_) {
    const char c = at(at_);
    if (c == '"') break;
    if (c == '\\') ++at_;
    if (at_ >= source_.text.size() || c == '\n')
      source_.fail(start - 1, "a string without its closing quote");
  }
  return source_.text.substr(start, at_++ - start);
}

std::string Scanner::string() {
  const std::string_view raw = raw_string();
  std::string value;
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\') {
      value += raw[i];
    } else if (i + 2 < raw.size() && is_hexadecimal(raw[i + 1]) && is_hexadecimal(raw[i + 2])) {
      value +=
          static_cast<char>(hexadecimal_value(raw[i + 1]) * 16 + hexadecimal_value(raw[i + 2]));
      i += 2;
    } else {
      ++i;
      value += raw[i] == 'n' ? '\n' : raw[i] == 't' ? '\t' : raw[i];
    }
  }
  return value;
}

std::string_view Scanner::balanced() {
  const size_t start = position();
  std::string open;  // the closing brackets that are due
  do {
    const size_t i = position();
    const char c = at(i);
    if (i >= source_.text.size()) {
      source_.fail(start, "'{}' without its closing '{}'", at(start), closing(at(start)));
    } else if (c == '"') {
      raw_string();
    } else if (c == '-' && at(i + 1) == '>') {
      at_ += 2;
    } else if (closing(c)) {
      open += closing(c);
      ++at_;
    } else if (c == ')' || c == ']' || c == '}' || c == '>') {
      if (open.empty() || open.back() != c) fail("'{}' closes nothing", c);
      open.pop_back();
      ++at_;
    } else {
      ++at_;
    }
  } while (!open.empty());
  return source_.text.substr(start, at_ - start);
}

}  // namespace centavo::stablehlo
