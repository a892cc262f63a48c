// Backend: what turns graphs into executables and holds values. A handful of virtuals, so that a
// new one is small.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "centavo/dist/group.h"
#include "centavo/ir/graph.h"

namespace centavo {

// A value on a device, perhaps still being computed. Immutable, except that a donated one is
// consumed.
class Buffer {
 public:
  explicit Buffer(TensorType type) : type_(std::move(type)) {}
  virtual ~Buffer() = default;
  const TensorType& type() const { return type_; }
  // Waits until the value is there; throws the Error of the execution that failed to make it.
  virtual void wait() const = 0;
  // Waits, then copies the value to `bytes` (type().bytes() of them), row-major.
  virtual void read(void* bytes) const = 0;

 private:
  TensorType type_;
};
using BufferPtr = std::shared_ptr<Buffer>;

struct ExecutableInfo {
  double compile_seconds = 0;
  int64_t kernels = 0;          // launches per run
  int64_t argument_bytes = 0;   // inputs
  int64_t output_bytes = 0;     // outputs that do not take over an input's buffer
  int64_t temporary_bytes = 0;  // the arena between them
  // What one run needs in all.
  int64_t planned_bytes() const { return argument_bytes + output_bytes + temporary_bytes; }
};

// Where the time of profiled runs went, one entry a kernel in launch order.
struct KernelProfile {
  std::string op;     // "dot_general", "fusion loop: add, gelu"
  std::string scope;  // layer that recorded it
  std::string type;   // of its first output
  int64_t calls = 0;
  double seconds = 0;           // of all calls
  double start = 0;             // of the last call, from the start of its run
  double flops = 0, bytes = 0;  // of one call, by the op's cost rule
};

class Executable {
 public:
  virtual ~Executable() = default;
  // Starts a run and returns its outputs at once; they can be passed on, and wait() when read.
  // Inputs that an output aliases (Graph::aliases) are consumed.
  virtual std::vector<BufferPtr> run(const std::vector<BufferPtr>& inputs) = 0;
  virtual const ExecutableInfo& info() const = 0;
  // Times every kernel of the runs that follow; costs two clock reads a kernel.
  virtual void set_profiling(bool) {}
  // Of the runs so far; empty where a backend cannot tell.
  virtual std::vector<KernelProfile> profile() const { return {}; }
};

class Backend {
 public:
  virtual ~Backend() = default;
  // "cpu"; what users pass to --device.
  virtual std::string name() const = 0;
  // Threads that compute.
  virtual int threads() const { return 1; }
  // One line for people: processor, instruction set, threads.
  virtual std::string description() const = 0;
  // Everything besides the graph that its code depends on; part of the executable cache's key.
  virtual std::string fingerprint() const = 0;
  // Throws Error when the graph cannot run here.
  virtual std::unique_ptr<Executable> compile(const Graph& graph) = 0;
  // Copies `bytes` (row-major) to the device.
  virtual BufferPtr upload(const TensorType& type, const void* bytes) = 0;
  // Waits until everything started has finished.
  virtual void synchronize() = 0;
};
using Device = std::shared_ptr<Backend>;

struct DeviceOptions {
  int threads = 0;  // 0: one per core that the process may use
  std::shared_ptr<dist::Group> group;  // the ranks that all_reduce joins; null: this process alone
};
// "cpu" or "reference". Throws Error with the nearest name for anything else.
Device open_device(const std::string& name, const DeviceOptions& options = {});
std::vector<std::string> device_names();

}  // namespace centavo
