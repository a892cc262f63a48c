// Worker: one thread that runs jobs in order. Executables launch on it, so that the caller goes on
// meanwhile; its OpenMP team is the only one that kernels use.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "centavo/backend/cpu/host_buffer.h"

namespace centavo::cpu {

class Worker {
 public:
  Worker();
  ~Worker();  // finishes what was submitted
  // Runs `job` after all earlier ones; what it throws comes out of the Completion.
  Completion submit(std::function<void()> job);
  void drain();
  // Memory for the temporaries of whatever runs next; only for jobs. Grows, never shrinks.
  std::byte* arena(int64_t bytes);

 private:
  void loop();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::packaged_task<void()>> jobs_;
  bool stopping_ = false;
  std::unique_ptr<Storage> arena_;
  std::thread thread_;
};

// Threads that OpenMP gives the calling thread when it asks for `wanted`; kernels rely on getting
// all they ask for.
int team_size(int wanted);
// Cores that this process may run on.
int usable_cores();
// Bytes of memory that the machine has.
int64_t physical_memory();
// The processor's name as the system has it.
std::string processor_name();

}  // namespace centavo::cpu
