#include "centavo/cli/mpirun_log.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <regex>

namespace centavo::cli {
namespace {

bool is_frame(std::string_view line) {
  return line.size() >= 60 && line.find_first_not_of('-') == line.npos;
}

// Open MPI 4's words in notices that follow a failure which has been named already.
constexpr std::array kRepeats = {"Per user-direction, the job has been aborted",
                                 "detected that one or more processes exited",
                                 "MPI_ABORT was invoked on rank"};

// "centavo: rank 1 on host b: ended by signal 9 (Killed)", or empty for another notice.
std::string ended_by_signal(const std::string& text) {
  static const std::regex kPattern(
      R"(noticed that process rank (\d+) with PID \d+ on node (\S+) exited on signal (\d+) \(([^)]*)\))");
  std::smatch match;
  if (!std::regex_search(text, match, kPattern)) return {};
  return fmt::format("centavo: rank {} on host {}: ended by signal {} ({})", match.str(1),
                     match.str(2), match.str(3), match.str(4));
}

}  // namespace

MpirunLog::~MpirunLog() {
  for (const std::string& line : notice_) print_(line);
}

void MpirunLog::add(std::string_view line) {
  if (is_frame(line)) {
    if (in_notice_) {
      end_notice();
    } else {
      notice_.emplace_back(line);
    }
    in_notice_ = !in_notice_;
  } else if (in_notice_) {
    notice_.emplace_back(line);
  } else {
    print_(line);
  }
}

void MpirunLog::end_notice() {
  std::string text;
  for (const std::string& line : notice_) text += line + " ";
  const std::string summary = ended_by_signal(text);
  if (!summary.empty()) {
    print_(summary);
  } else if (std::ranges::none_of(
                 kRepeats, [&](const char* words) { return text.find(words) != text.npos; })) {
    for (const std::string& line : notice_) print_(line);
    print_(notice_.front());
  }
  notice_.clear();
}

}  // namespace centavo::cli
