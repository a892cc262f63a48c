// The worker's queue, its memory, and what the system says about the processor.
#include "centavo/backend/cpu/worker.h"

#include <cstdlib>
#include <fstream>
#include <omp.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "centavo/base/text.h"

namespace centavo::cpu {
namespace {

// Large blocks come straight from the system, in huge pages where it has them.
constexpr int64_t kLarge = int64_t{4} << 20;

}  // namespace

Storage::Storage(int64_t bytes) : bytes_((std::max<int64_t>(bytes, 1) + 63) / 64 * 64) {
  const size_t alignment = bytes_ >= kLarge ? size_t{2} << 20 : 64;
  data_ = static_cast<std::byte*>(std::aligned_alloc(
      alignment, (static_cast<size_t>(bytes_) + alignment - 1) / alignment * alignment));
  if (!data_)
    throw Error("memory", "cannot allocate {}; use a smaller batch or model",
                human_bytes(static_cast<double>(bytes_)));
  if (bytes_ >= kLarge) madvise(data_, static_cast<size_t>(bytes_), MADV_HUGEPAGE);
}
Storage::~Storage() {
  std::free(data_);
}

Worker::Worker() : thread_([this] { loop(); }) {}

Worker::~Worker() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

Completion Worker::submit(std::function<void()> job) {
  std::packaged_task<void()> task(std::move(job));
  Completion done = task.get_future().share();
  {
    std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(task));
  }
  wake_.notify_one();
  return done;
}

void Worker::drain() {
  submit([] {}).get();
}

std::byte* Worker::arena(int64_t bytes) {
  if (!arena_ || arena_->bytes() < bytes) {
    arena_.reset();
    arena_ = std::make_unique<Storage>(bytes);
  }
  return arena_->data();
}

void Worker::loop() {
  for (;;) {
    std::packaged_task<void()> task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      task = std::move(jobs_.front());
      jobs_.pop_front();
    }
    task();
  }
}

int team_size(int wanted) {
  omp_set_dynamic(0);
  int given = 1;
#pragma omp parallel num_threads(wanted)
#pragma omp single
  given = omp_get_num_threads();
  return given;
}

int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int64_t physical_memory() {
  return int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
}

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    if (auto colon = line.find(':'); colon != line.npos)
      return std::string(trim(std::string_view(line).substr(colon + 1)));
  }
  return "unknown processor";
}

}  // namespace centavo::cpu
