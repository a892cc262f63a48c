// Transport: messages between the processes of a job. MPI is the one implementation; one thread
// at a time may call it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace centavo::dist {

class Transport {
 public:
  virtual ~Transport() = default;  // leaves the job in good order; all ranks must do so
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Ranks that run on this machine and can share memory with this one, counted in rank order.
  virtual int local_rank() const = 0;
  virtual int local_size() const = 0;
  virtual std::string host() const = 0;
  // Sends to `to` and receives from `from` at once; either may be -1 for none. `idle` is called
  // again and again while it waits; what it throws ends the wait.
  virtual void exchange(const void* out, int64_t out_bytes, int to, void* in, int64_t in_bytes,
                        int from, const std::function<void()>& idle) = 0;
  // Ends every process of the job.
  [[noreturn]] virtual void abort(int code) = 0;
};

// Null when the program was built without MPI or not started by an MPI launcher.
std::unique_ptr<Transport> open_transport();

}  // namespace centavo::dist
