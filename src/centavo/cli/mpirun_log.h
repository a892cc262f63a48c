// What mpirun itself says when a job fails, made short: of its framed notices, the one that names a
// rank which a signal ended becomes one line; those that only repeat that the job failed go.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace centavo::cli {

class MpirunLog {
 public:
  // `print` gets every line that stays.
  explicit MpirunLog(std::function<void(std::string_view)> print) : print_(std::move(print)) {}
  ~MpirunLog();
  void add(std::string_view line);

 private:
  void end_notice();

  std::function<void(std::string_view)> print_;
  std::vector<std::string> notice_;  // since the opening frame
  bool in_notice_ = false;
};

}  // namespace centavo::cli
