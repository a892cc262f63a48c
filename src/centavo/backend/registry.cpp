// The devices by name.
#include "centavo/backend/backend.h"
#include "centavo/backend/cpu/cpu_backend.h"
#include "centavo/backend/reference/reference_backend.h"
#include "centavo/base/text.h"

namespace centavo {

std::vector<std::string> device_names() {
  return {"cpu", "reference"};
}

Device open_device(const std::string& name, const DeviceOptions& options) {
  constexpr int kMostThreads = 1024;  // OpenMP keeps a team's threads on the stack
  if (options.threads > kMostThreads) {
    throw Error("device",
                "{} threads are more than the {} that a team may have; 0 takes every core",
                options.threads, kMostThreads);
  }
  if (options.threads < 0)
    throw Error("device", "threads must be positive, got {}", options.threads);
  if (name == "cpu") return make_cpu_backend(options);
  if (name == "reference") return make_reference_backend();
  throw Error("device", "unknown device '{}'{}; known: cpu, reference", name,
              did_you_mean(name, device_names()));
}

}  // namespace centavo
