#include "centavo/cli/child_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "centavo/base/error.h"

namespace centavo::cli {
namespace {

volatile std::sig_atomic_t child = 0;        // process id; 0: none runs
volatile std::sig_atomic_t stop_signal = 0;  // what it is to be sent; 0: nothing came

void pass_on(int signal) {
  stop_signal = signal == SIGINT ? SIGTERM : SIGUSR1;
  if (child > 0) kill(child, stop_signal);
}

// Never returns: becomes the program, or exits with 127.
[[noreturn]] void become(const std::vector<std::string>& command, int error_pipe) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  // A group of its own: what the terminal sends to ours is passed on as documented instead.
  setpgid(0, 0);
  if (const int nothing = open("/dev/null", O_RDONLY); nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(error_pipe, STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const char* reason = std::strerror(errno);
  dprintf(STDERR_FILENO, "centavo: cannot run %s: %s\n", arguments[0], reason);
  _exit(127);
}

// Hands out whole lines; keeps the beginning of one that has not ended.
class Lines {
 public:
  explicit Lines(const std::function<void(std::string_view)>& on_line) : on_line_(on_line) {}
  ~Lines() {
    if (!rest_.empty()) on_line_(rest_);
  }
  void add(std::string_view text) {
    rest_ += text;
    size_t begin = 0;
    for (size_t end; (end = rest_.find('\n', begin)) != rest_.npos; begin = end + 1)
      on_line_(std::string_view(rest_).substr(begin, end - begin));
    rest_.erase(0, begin);
  }

 private:
  const std::function<void(std::string_view)>& on_line_;
  std::string rest_;
};

// Reads until the child has ended and no more comes; returns its wait status.
int read_until_end(pid_t pid, int pipe, Lines& lines) {
  std::array<char, 4096> buffer{};
  for (int status = 0, ended = 0;;) {
    pollfd waiting{pipe, POLLIN, 0};
    const int ready = poll(&waiting, 1, ended ? 0 : 100);
    if (ready > 0) {
      const ssize_t n = read(pipe, buffer.data(), buffer.size());
      if (n > 0) {
        lines.add({buffer.data(), static_cast<size_t>(n)});
        continue;
      }
      if (n == 0 && !ended) {
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        return status;
      }
    }
    if (ended) return status;
    ended = waitpid(pid, &status, WNOHANG) == pid;
  }
}

}  // namespace

void catch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = pass_on;
  for (int signal : {SIGTERM, SIGUSR1, SIGINT}) sigaction(signal, &action, nullptr);
}

bool child_stop_requested() {
  return stop_signal != 0;
}

int run_child(const std::vector<std::string>& command,
              const std::function<void(std::string_view)>& on_line) {
  catch_stop_signals();
  std::array<int, 2> error_pipe{};
  if (pipe2(error_pipe.data(), O_CLOEXEC) != 0)
    throw Error("launch", "cannot make a pipe: {}", std::strerror(errno));
  std::fflush(stdout);
  const pid_t pid = fork();
  if (pid < 0) throw Error("launch", "cannot start a process: {}", std::strerror(errno));
  if (pid == 0) become(command, error_pipe[1]);
  child = pid;
  if (stop_signal != 0) kill(pid, stop_signal);  // it came before there was a child
  close(error_pipe[1]);
  int status = 0;
  {
    Lines lines(on_line);
    status = read_until_end(pid, error_pipe[0], lines);
  }
  child = 0;
  close(error_pipe[0]);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace centavo::cli
