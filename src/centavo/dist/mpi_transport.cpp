// The transport over MPI. One thread at a time calls it (MPI_THREAD_SERIALIZED).
#include <algorithm>
#include <array>
#include <cstdlib>
#include <mpi.h>
#include <unistd.h>

#include "centavo/base/error.h"
#include "centavo/dist/launcher.h"
#include "centavo/dist/transport.h"

namespace centavo::dist {
namespace {

constexpr int kDataTag = 1;

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw Error("mpi", "{}: {}", call, text.data());
}

class MpiTransport : public Transport {
 public:
  MpiTransport() {
    int provided = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
    if (provided < MPI_THREAD_SERIALIZED)
      throw Error("mpi", "this MPI library cannot be called from a thread other than the main one");
    check(MPI_Comm_dup(MPI_COMM_WORLD, &world_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(world_, &rank_);
    MPI_Comm_size(world_, &size_);
    MPI_Comm local = MPI_COMM_NULL;
    check(MPI_Comm_split_type(world_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &local),
          "MPI_Comm_split_type");
    MPI_Comm_rank(local, &local_rank_);
    MPI_Comm_size(local, &local_size_);
    MPI_Comm_free(&local);
  }

  ~MpiTransport() override {
    MPI_Comm_free(&world_);
    MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return local_rank_; }
  int local_size() const override { return local_size_; }
  std::string host() const override {
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    return name.data();
  }

  void exchange(const void* out, int64_t out_bytes, int to, void* in, int64_t in_bytes, int from,
                const std::function<void()>& idle) override {
    // MPI counts in int: at most 1 GiB at a time.
    constexpr int64_t kMost = int64_t{1} << 30;
    for (int64_t sent = 0, taken = 0; sent < out_bytes || taken < in_bytes;) {
      std::array<MPI_Request, 2> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
      const int64_t sending = to < 0 ? 0 : std::min(kMost, out_bytes - sent);
      const int64_t taking = from < 0 ? 0 : std::min(kMost, in_bytes - taken);
      if (taking > 0)
        check(MPI_Irecv(static_cast<std::byte*>(in) + taken, static_cast<int>(taking), MPI_BYTE,
                        from, kDataTag, world_, &requests[0]),
              "MPI_Irecv");
      if (sending > 0)
        check(MPI_Isend(static_cast<const std::byte*>(out) + sent, static_cast<int>(sending),
                        MPI_BYTE, to, kDataTag, world_, &requests[1]),
              "MPI_Isend");
      for (int done = 0;;) {
        check(MPI_Testall(2, requests.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall");
        if (done) break;
        idle();
      }
      sent = to < 0 ? out_bytes : sent + sending;
      taken = from < 0 ? in_bytes : taken + taking;
    }
  }

  [[noreturn]] void abort(int code) override {
    alarm(3);  // if the launcher cannot be told
    MPI_Abort(MPI_COMM_WORLD, code);
    _exit(code);
  }

 private:
  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
};

}  // namespace

std::unique_ptr<Transport> open_transport() {
  if (!started_by_launcher()) return nullptr;
  return std::make_unique<MpiTransport>();
}

}  // namespace centavo::dist
