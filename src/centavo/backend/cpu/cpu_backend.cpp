// Buffers, the worker thread that runs executables in order, and the backend's entry points.
#include "centavo/backend/cpu/cpu_backend.h"

#include <cstdlib>
#include <cstring>
#include <thread>

#include "centavo/backend/cpu/executable.h"
#include "centavo/backend/cpu/host_buffer.h"
#include "centavo/backend/cpu/worker.h"
#include "centavo/base/log.h"

namespace centavo {
namespace cpu {
namespace {

class CpuBackend : public Backend {
 public:
  explicit CpuBackend(const DeviceOptions& options)
      : group_(options.group), worker_(std::make_shared<Worker>()) {
    context_.group = group_.get();
    const int wanted = options.threads > 0 ? options.threads : usable_cores();
    worker_->submit([&] { context_.threads = team_size(wanted); }).get();
    if (context_.threads < wanted) {
      log_warning("OpenMP gives {} of {} threads; is OMP_THREAD_LIMIT set?", context_.threads,
                  wanted);
    }
  }

  std::string name() const override { return "cpu"; }
  int threads() const override { return context_.threads; }
  std::string description() const override {
    return fmt::format("{}, {} thread{}", processor_name(), context_.threads,
                       context_.threads == 1 ? "" : "s");
  }
  std::string fingerprint() const override {
    return fmt::format("cpu threads={} ranks={}", context_.threads, group_ ? group_->size() : 1);
  }
  std::unique_ptr<Executable> compile(const Graph& graph) override {
    return compile_executable(graph, context_, worker_);
  }
  BufferPtr upload(const TensorType& type, const void* bytes) override {
    auto storage = std::make_shared<Storage>(type.bytes());
    std::memcpy(storage->data(), bytes, static_cast<size_t>(type.bytes()));
    return std::make_shared<HostBuffer>(type, std::move(storage), Completion());
  }
  void synchronize() override { worker_->drain(); }

 private:
  std::shared_ptr<dist::Group> group_;
  KernelContext context_;
  std::shared_ptr<Worker> worker_;
};

}  // namespace
}  // namespace cpu

Device make_cpu_backend(const DeviceOptions& options) {
  return std::make_shared<cpu::CpuBackend>(options);
}

}  // namespace centavo
