// Group: the processes of a data-parallel job and what they do together. One process, or the ranks
// of an MPI job: shared memory inside a host, MPI between hosts. Collective calls must be made by
// every rank in the same order, by one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "centavo/base/dtype.h"

namespace centavo::dist {

struct GroupOptions {
  double timeout = 60;  // seconds that a rank waits for another before the job is ended
};

// Part of a value to be reduced: `count` elements from `in` to `out`, which may be the same.
struct Piece {
  const void* in;
  void* out;
  int64_t count;
};

class Group {
 public:
  virtual ~Group() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string host() const = 0;
  // Threads that this rank should compute with: the cores it is bound to, shared fairly among the
  // ranks of its host that are bound to them too.
  virtual int threads() const = 0;

  // Every rank's `data` becomes root's.
  virtual void broadcast(void* data, int64_t bytes, int root) = 0;
  // Every rank's out becomes scale * the sum of the ranks' in, in rank order within a host. f32,
  // bf16 (summed in f32) or f64 (within a host). All ranks get the same bits.
  virtual void all_reduce(std::span<const Piece> pieces, DType dtype, double scale) = 0;
  // Rank r's out[count] becomes scale * the sum of the ranks' in[r * count, (r + 1) * count).
  virtual void reduce_scatter(const void* in, void* out, int64_t count, DType dtype,
                              double scale) = 0;
  // out[r * bytes, (r + 1) * bytes) becomes rank r's `in`.
  virtual void all_gather(const void* in, void* out, int64_t bytes) = 0;
  // Returns when every rank has called it. A rank that does not within the timeout ends the job:
  // one line names it and its host.
  virtual void barrier() = 0;
  // Ends every process of the job after an error that this rank has reported.
  [[noreturn]] virtual void abort(int code) = 0;
};

// The group of the MPI job that started this process, or a group of one. MPI can be opened once in
// a process: later calls return the same group while it lives. Throws Error when the ranks of a
// host cannot share memory, or when there are several processes and the program was built without
// MPI.
std::shared_ptr<Group> open_group(const GroupOptions& options = {});
// The group that is open, or null.
std::shared_ptr<Group> open_group_if_any();

}  // namespace centavo::dist
