// The two-level collectives. Each rank has a slot in memory that its host shares; ranks fill their
// slots, each reduces its part of all of them, exchanges that part with the rank of the same place
// on the other hosts, and writes the result into all slots.
#include "centavo/dist/group.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>

#include "centavo/base/timer.h"
#include "centavo/dist/arithmetic.h"
#include "centavo/dist/bound_cores.h"
#include "centavo/dist/host_memory.h"
#include "centavo/dist/transport.h"

namespace centavo::dist {
namespace {

class GroupOfOne : public Group {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string host() const override { return "localhost"; }
  int threads() const override { return 0; }
  void broadcast(void*, int64_t, int) override {}
  void all_reduce(std::span<const Piece> pieces, DType dtype, double scale) override {
    for (const Piece& p : pieces) {
      if (p.in != p.out) std::memmove(p.out, p.in, static_cast<size_t>(p.count * size_of(dtype)));
      std::byte* slot = static_cast<std::byte*>(p.out);
      if (scale != 1) sum_in_place({&slot, 1}, 0, p.count, dtype, scale);
    }
  }
  void reduce_scatter(const void* in, void* out, int64_t count, DType dtype,
                      double scale) override {
    const Piece piece{in, out, count};
    all_reduce({&piece, 1}, dtype, scale);
  }
  void all_gather(const void* in, void* out, int64_t bytes) override {
    std::memmove(out, in, static_cast<size_t>(bytes));
  }
  void barrier() override {}
  [[noreturn]] void abort(int code) override { _exit(code); }
};

constexpr int64_t kSlot = int64_t{4} << 20;  // bytes of a rank's slot
constexpr int64_t kLine = 64;

// How long a rank has waited for another. What it slept through itself, stopped or starved, hardly
// counts: a rank that was hung must not blame the one that waited for it.
class Patience {
 public:
  explicit Patience(double seconds) : seconds_(seconds) {}
  // To be asked at least twice a second.
  bool is_over() {
    waited_ += std::min(since_.restart(), 0.5);
    return waited_ > seconds_;
  }

 private:
  double seconds_, waited_ = 0;
  Timer since_;
};

// One rank's place in the shared memory, before its slot.
struct alignas(kLine) Post {
  std::atomic<uint32_t> arrived;
};
// What ranks tell each other when the group opens.
struct Card {
  int64_t pid, fd;
  int32_t local_rank, local_size;
  std::array<char, 256> host;
  CoreSet cores;
};

class MpiGroup : public Group {
 public:
  MpiGroup(std::unique_ptr<Transport> transport, const GroupOptions& options)
      : transport_(std::move(transport)), timeout_(options.timeout) {
    rank_ = transport_->rank();
    cards_.resize(static_cast<size_t>(size()));
    introduce();
    find_columns();
    share_memory();
    count_threads();
  }
  ~MpiGroup() override {
    // A rank that leaves because of an error must not wait for the others: its exit without
    // MPI_Finalize ends the job, once the error has been reported.
    if (std::uncaught_exceptions() > 0)
      transport_.release();
    else
      barrier();
  }

  int rank() const override { return rank_; }
  int size() const override { return transport_->size(); }
  std::string host() const override { return cards_[static_cast<size_t>(rank_)].host.data(); }
  int threads() const override { return threads_; }
  [[noreturn]] void abort(int code) override {
    transport_->abort(code);
    std::abort();
  }

  void barrier() override {
    meet();
    // Each host hears of every other: in round k from the one 2^k before it.
    for (int hop = 1; hop < hosts_; hop *= 2) {
      char out = 0, in = 0;
      exchange(&out, 1, column_at(host_ + hop), &in, 1, column_at(host_ - hop));
    }
    meet();
  }

  void broadcast(void* data, int64_t bytes, int root) override {
    const Card& of_root = cards_[static_cast<size_t>(root)];
    const bool in_column = of_root.local_rank == local_rank_;
    const int root_host = host_of_[static_cast<size_t>(root)];
    const int before = (host_ - root_host + hosts_) % hosts_;  // hosts between the root's and mine
    for (int64_t at = 0; at < bytes; at += kSlot) {
      const int64_t n = std::min(kSlot, bytes - at);
      std::byte* mine = static_cast<std::byte*>(data) + at;
      if (in_column) {
        if (rank_ == root) std::memcpy(slots_[mine_], mine, static_cast<size_t>(n));
        if (before > 0) exchange(nullptr, 0, -1, slots_[mine_], n, column_at(host_ - 1));
        if (before + 1 < hosts_) exchange(slots_[mine_], n, column_at(host_ + 1), nullptr, 0, -1);
      }
      meet();
      if (rank_ != root)
        std::memcpy(mine, slots_[shared_ ? static_cast<size_t>(of_root.local_rank) : 0],
                    static_cast<size_t>(n));
      meet();
    }
  }

  void all_reduce(std::span<const Piece> pieces, DType dtype, double scale) override {
    const int64_t width = size_of(dtype), most = kSlot / width;
    // The pieces one after the other, a slot at a time.
    size_t from = 0;
    int64_t from_at = 0;
    while (from < pieces.size()) {
      size_t to = from;
      int64_t to_at = from_at, filled = 0;
      while (to < pieces.size() && filled < most) {
        const int64_t n = std::min(most - filled, pieces[to].count - to_at);
        std::memcpy(slots_[mine_] + filled * width,
                    static_cast<const std::byte*>(pieces[to].in) + to_at * width,
                    static_cast<size_t>(n * width));
        filled += n;
        to_at += n;
        if (to_at == pieces[to].count) ++to, to_at = 0;
      }
      reduce_slots(filled, dtype, scale);
      for (int64_t taken = 0; from < to || (from == to && from_at < to_at);) {
        const int64_t end = from == to ? to_at : pieces[from].count, n = end - from_at;
        std::memcpy(static_cast<std::byte*>(pieces[from].out) + from_at * width,
                    slots_[mine_] + taken * width, static_cast<size_t>(n * width));
        taken += n;
        from_at = end;
        if (from == to) break;
        ++from, from_at = 0;
      }
    }
  }

  // Moves as much as an all_reduce; each rank keeps its part.
  void reduce_scatter(const void* in, void* out, int64_t count, DType dtype,
                      double scale) override {
    const int64_t width = size_of(dtype);
    std::vector<std::byte> all(static_cast<size_t>(count * size() * width));
    const Piece piece{in, all.data(), count * size()};
    all_reduce({&piece, 1}, dtype, scale);
    std::memcpy(out, all.data() + rank_ * count * width, static_cast<size_t>(count * width));
  }

  void all_gather(const void* in, void* out, int64_t bytes) override {
    std::vector<std::byte> incoming(static_cast<size_t>(hosts_ > 1 ? std::min(kSlot, bytes) : 0));
    for (int64_t at = 0; at < bytes; at += kSlot) {
      const int64_t n = std::min(kSlot, bytes - at);
      std::memcpy(slots_[mine_], static_cast<const std::byte*>(in) + at, static_cast<size_t>(n));
      // What this host's slots hold moves round the hosts.
      for (int step = 0; step < hosts_; ++step) {
        meet();
        const int owner_host = (host_ - step + hosts_) % hosts_;
        for (size_t l = 0; l < slots_.size(); ++l)
          std::memcpy(static_cast<std::byte*>(out) + member(owner_host, l) * bytes + at, slots_[l],
                      static_cast<size_t>(n));
        if (step + 1 < hosts_)
          exchange(slots_[mine_], n, column_at(host_ + 1), incoming.data(), n,
                   column_at(host_ - 1));
        meet();
        if (step + 1 < hosts_) std::memcpy(slots_[mine_], incoming.data(), static_cast<size_t>(n));
      }
    }
  }

 private:
  // -- opening

  void introduce() {
    Card& mine = cards_[static_cast<size_t>(rank_)];
    own_ = HostMemory(int64_t{sizeof(Post)} + kSlot);
    mine = {getpid(), own_.fd(),    transport_->local_rank(), transport_->local_size(),
            {},       bound_cores()};
    std::snprintf(mine.host.data(), mine.host.size(), "%s", transport_->host().c_str());
    // A ring: in step s everyone passes on the card that it got s steps ago.
    const int n = size(), next = (rank_ + 1) % n, previous = (rank_ + n - 1) % n;
    for (int step = 0; step + 1 < n; ++step) {
      exchange(&cards_[static_cast<size_t>((rank_ - step + n) % n)], sizeof(Card), next,
               &cards_[static_cast<size_t>((rank_ - step - 1 + n) % n)], sizeof(Card), previous);
    }
  }

  // Ranks of one host follow each other unless the launcher was told otherwise; hosts may differ in
  // how many they have. Where either is so, every rank counts as a host of its own.
  void find_columns() {
    const int n = size();
    const int per_host = cards_[0].local_size;
    // For tests: what goes between hosts, on one host.
    bool regular = n % per_host == 0 && !std::getenv("CENTAVO_DIST_ALONE");
    for (int r = 0; r < n && regular; ++r) {
      const Card& card = cards_[static_cast<size_t>(r)];
      regular = card.local_size == per_host && card.local_rank == r % per_host;
    }
    shared_ = regular;
    local_size_ = regular ? per_host : 1;
    local_rank_ = regular ? rank_ % per_host : 0;
    hosts_ = n / local_size_;
    host_ = rank_ / local_size_;
    for (int r = 0; r < n; ++r) {
      host_of_.push_back(r / local_size_);
      if (!regular) cards_[static_cast<size_t>(r)].local_rank = 0;
    }
    mine_ = static_cast<size_t>(local_rank_);
  }

  void share_memory() {
    for (int l = 0; l < local_size_; ++l) {
      const Card& card = cards_[static_cast<size_t>(member(host_, static_cast<size_t>(l)))];
      if (l != local_rank_) peers_.emplace_back(card.pid, static_cast<int>(card.fd), own_.bytes());
      std::byte* base = l == local_rank_ ? own_.data() : peers_.back().data();
      posts_.push_back(reinterpret_cast<Post*>(base));
      slots_.push_back(base + sizeof(Post));
    }
    barrier();
    own_.close_fd();
  }

  void count_threads() {
    const CoreSet mine = bound_cores();
    int sharing = 0;
    for (const Card& card : cards_) {
      if (std::strcmp(card.host.data(), host().c_str()) == 0 && (card.cores & mine).any())
        ++sharing;
    }
    threads_ = std::max(1, static_cast<int>(mine.count()) / std::max(1, sharing));
  }

  // -- waiting

  int member(int host, size_t local) const { return host * local_size_ + static_cast<int>(local); }
  // The rank of my place on another host, counted round.
  int column_at(int host) const {
    return member((host % hosts_ + hosts_) % hosts_, static_cast<size_t>(local_rank_));
  }

  [[noreturn]] void give_up(int on) {
    const Card& card = cards_[static_cast<size_t>(on)];
    const std::string line = fmt::format(
        "centavo: rank {} on host {}: no answer for {:g} s (rank {} on host {} waited); "
        "it hangs, or its network is down\n",
        on, card.host[0] ? card.host.data() : "?", timeout_, rank_, host());
    std::fwrite(line.data(), 1, line.size(), stderr);
    abort(1);
  }

  void exchange(const void* out, int64_t out_bytes, int to, void* in, int64_t in_bytes, int from) {
    Patience patience(timeout_);
    int polls = 0;
    transport_->exchange(out, out_bytes, to, in, in_bytes, from, [&] {
      // Polling costs the core on which this rank computes.
      if (++polls > 200) std::this_thread::sleep_for(std::chrono::microseconds(20));
      if (patience.is_over()) give_up(from >= 0 ? from : to);
    });
  }

  // A barrier of the host's ranks: what they wrote to their slots before it is seen after it.
  void meet() {
    if (local_size_ == 1) return;
    const uint32_t now = ++meetings_;
    posts_[mine_]->arrived.store(now, std::memory_order_release);
    wake_all(posts_[mine_]->arrived);
    Patience patience(timeout_);
    for (size_t l = 0; l < posts_.size(); ++l) {
      for (;;) {
        const uint32_t seen = posts_[l]->arrived.load(std::memory_order_acquire);
        if (static_cast<int32_t>(seen - now) >= 0) break;
        wait_while(posts_[l]->arrived, seen, 100);
        if (patience.is_over()) give_up(member(host_, l));
      }
    }
  }

  // -- reducing

  // All ranks' slots become scale * their sum.
  void reduce_slots(int64_t count, DType dtype, double scale) {
    meet();
    const Span part = part_of(count, local_rank_, local_size_);
    if (hosts_ == 1) {
      sum_in_place(slots_, part.begin, part.end, dtype, scale);
    } else {
      if (dtype == DType::kF64) throw Error("all_reduce", "f64 is not reduced between hosts");
      const int64_t n = part.end - part.begin;
      partial_.resize(static_cast<size_t>(n));
      sum_to(slots_, part.begin, part.end, dtype, partial_.data());
      ring(partial_.data(), n);
      store_to(slots_, part.begin, part.end, dtype, partial_.data(), scale);
    }
    meet();
  }

  // Sums over the hosts: reduce-scatter, then all-gather, each chunk added up along the ring from
  // the host after its owner, so all hosts get the same bits.
  void ring(float* data, int64_t n) {
    const int next = column_at(host_ + 1), previous = column_at(host_ - 1);
    auto chunk = [&](int i) { return part_of(n, (i % hosts_ + hosts_) % hosts_, hosts_); };
    auto bytes = [](Span s) { return (s.end - s.begin) * int64_t{sizeof(float)}; };
    incoming_.resize(static_cast<size_t>(n / hosts_ + 32));
    for (int s = 0; s + 1 < hosts_; ++s) {
      const Span out = chunk(host_ - s), in = chunk(host_ - s - 1);
      exchange(data + out.begin, bytes(out), next, incoming_.data(), bytes(in), previous);
      add(incoming_.data(), data + in.begin, in.end - in.begin);
    }
    for (int s = 0; s + 1 < hosts_; ++s) {
      const Span out = chunk(host_ + 1 - s), in = chunk(host_ - s);
      exchange(data + out.begin, bytes(out), next, data + in.begin, bytes(in), previous);
    }
  }

  std::unique_ptr<Transport> transport_;
  double timeout_;
  int rank_ = 0, hosts_ = 1, host_ = 0, local_size_ = 1, local_rank_ = 0, threads_ = 1;
  bool shared_ = true;
  size_t mine_ = 0;
  std::vector<Card> cards_;  // by rank
  std::vector<int> host_of_;
  HostMemory own_;
  std::vector<HostMemory> peers_;
  std::vector<Post*> posts_;       // by local rank
  std::vector<std::byte*> slots_;  // by local rank
  uint32_t meetings_ = 0;
  std::vector<float> partial_, incoming_;
};

std::mutex group_mutex;
std::weak_ptr<Group>& current_group() {
  static std::weak_ptr<Group> group;
  return group;
}

}  // namespace

std::shared_ptr<Group> open_group_if_any() {
  std::lock_guard lock(group_mutex);
  return current_group().lock();
}

std::shared_ptr<Group> open_group(const GroupOptions& options) {
  std::lock_guard lock(group_mutex);
  if (auto group = current_group().lock()) return group;
  std::shared_ptr<Group> group;
  if (auto transport = open_transport(); transport && transport->size() > 1)
    group = std::make_shared<MpiGroup>(std::move(transport), options);
  else
    group = std::make_shared<GroupOfOne>();
  current_group() = group;
  return group;
}

}  // namespace centavo::dist
