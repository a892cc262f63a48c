// Blocking for caches and threads: in what order blocks of C are made, who packs what when, and
// what is fetched meanwhile. The arithmetic is in micro.h, packing in gemm_operand.h.
//
// C is made in blocks, each over all of K, chunk by chunk. The outer operand's strips are shared
// out among the threads, which walk over all of the inner operand for each block of them. A chunk
// is packed just before its first use, while its source is in L2: of the outer operand by its only
// user, of the inner one by the threads together, each its part during its first walk. Everything
// else comes from memory while products run (AheadQueue), which is what keeps them at the speed of
// the registers.
#include "centavo/backend/cpu/kernels/gemm.h"

#include <algorithm>
#include <omp.h>

#include "centavo/backend/cpu/kernels/gemm_operand.h"
#include "centavo/backend/cpu/kernels/scratch.h"
#include "centavo/base/error.h"

namespace centavo::cpu {
namespace {

// A block of C is at most kBlock x kBlock, a multiple of every micro-kernel's rows and width.
constexpr int64_t kBlock = 96;
// Steps of K taken at once. Three chunks of kBlock strips, two in use and one on its way, fit a
// megabyte of L2; a micro-panel of A fits half of L1.
constexpr int64_t kMaxChunk = 400;

int64_t blocks(Range range) {
  return ceil_div(range.size(), kBlock);
}
Range block(Range range, int64_t index) {
  return {range.begin + index * kBlock, std::min(range.begin + (index + 1) * kBlock, range.end)};
}

// How a number of threads divide C.
struct Team {
  int outer = 1, inner = 1;  // threads along each operand
  bool rows_outer = false;
  int threads() const { return outer * inner; }
};

// What a thread works in.
struct Buffers {
  Scratch inner, outer, block;
};
Buffers& thread_buffers() {
  static thread_local Buffers buffers;
  return buffers;
}

class Product {
 public:
  Product(const GemmSpec& spec, const Operand& a, const Operand& b, TileSink sink, void* context,
          std::span<const TileMemory> memories)
      : spec_(spec),
        micro_(micro(spec.compute, spec.level)),
        a_(a),
        b_(b),
        sink_(sink),
        context_(context),
        memories_(memories),
        steps_(micro_.steps(spec.k)),
        chunks_(std::max<int64_t>(1, ceil_div(steps_, kMaxChunk))) {}

  void run() const;

 private:
  friend class Walk;
  const Operand& outer(const Team& team) const { return team.rows_outer ? a_ : b_; }
  const Operand& inner(const Team& team) const { return team.rows_outer ? b_ : a_; }
  size_t inner_bytes(const Team& team) const {
    const Operand& x = inner(team);
    return x.ready() ? 0 : static_cast<size_t>(x.packed_bytes(x.size()));
  }
  Range chunk(int64_t index) const { return share({0, steps_}, 4, index, chunks_); }
  double cost(const Team& team) const;
  Team choose_team(int threads) const;
  void run_batches(Range batches, const Team& team, int thread, std::byte* inner_panels) const;

  const GemmSpec& spec_;
  const Micro& micro_;
  const Operand &a_, &b_;
  const TileSink sink_;
  void* const context_;
  const std::span<const TileMemory> memories_;
  const int64_t steps_, chunks_;
};

// One thread's way through its part of one product of the batch.
class Walk {
 public:
  Walk(const Product& product, int64_t batch, const Team& team, int thread, bool packs_inner,
       std::byte* inner_panels)
      : p_(product),
        batch_(batch),
        team_(team),
        outer_(product.outer(team)),
        inner_(product.inner(team)),
        packs_inner_(packs_inner),
        outer_range_(share({0, outer_.size()}, outer_.unit(), thread / team.inner, team.outer)),
        inner_range_(share({0, inner_.size()}, inner_.unit(), thread % team.inner, team.inner)),
        outer_blocks_(blocks(outer_range_)),
        inner_blocks_(blocks(inner_range_)),
        outer_panels_(thread_buffers().outer.reserve(
            outer_.ready() ? 0 : static_cast<size_t>(outer_.packed_bytes(kBlock)))),
        inner_panels_(inner_panels),
        tile_(reinterpret_cast<float*>(
            thread_buffers().block.reserve(kBlock * kBlock * sizeof(float)))) {
    const int64_t member = thread / team.inner;
    first_inner_ = inner_blocks_ * member / team.outer;
    own_inner_ = inner_blocks_ * (member + 1) / team.outer - first_inner_;
  }

  void run() {
    // Others read the panels that this thread packs, and the reverse.
    const bool shares = packs_inner_ && team_.outer > 1;
    const int64_t own_end = own_inner_ * p_.chunks_;
    const int64_t end = outer_blocks_ * inner_blocks_ * p_.chunks_;
    if (end == 0) pack_own_inner();
    for (int64_t at = 0; at < end; ++at) {
      if (shares && at == own_end) {
#pragma omp barrier
      }
      visit(place(at), at + 1 < end ? place(at + 1) : Place{});
    }
    if (shares && end <= own_end) {
#pragma omp barrier
    }
  }

 private:
  // A step of the walk: a chunk of a block.
  struct Place {
    Range outer, inner, steps;
    bool first_chunk = false, last_chunk = false;
    bool packs_outer = false, packs_inner = false;
  };

  Place place(int64_t at) const {
    const int64_t chunk = at % p_.chunks_, visit = at / p_.chunks_ % inner_blocks_,
                  round = at / p_.chunks_ / inner_blocks_;
    return {.outer = block(outer_range_, round),
            .inner = block(inner_range_, (first_inner_ + visit) % inner_blocks_),
            .steps = p_.chunk(chunk),
            .first_chunk = chunk == 0,
            .last_chunk = chunk + 1 == p_.chunks_,
            .packs_outer = !outer_.ready() && visit == 0,
            .packs_inner = packs_inner_ && round == 0 && visit < own_inner_};
  }

  Strips outer_strips(const Place& at) const {
    return outer_.strips(batch_, at.outer.begin, outer_panels_);
  }
  Strips inner_strips() const {
    return inner_.strips(batch_, 0, inner_panels_);
  }

  void pack_own_inner() {
    for (int64_t i = 0; packs_inner_ && i < own_inner_; ++i) {
      inner_.pack(batch_, block(inner_range_, first_inner_ + i), {0, p_.steps_}, 0, inner_panels_);
    }
  }

  void visit(const Place& at, const Place& next) {
    if (at.packs_outer) outer_.pack(batch_, at.outer, at.steps, at.outer.begin, outer_panels_);
    if (at.packs_inner) inner_.pack(batch_, at.inner, at.steps, 0, inner_panels_);
    fill_queue(at, next);
    if (team_.rows_outer) {
      multiply(outer_strips(at), at.outer, inner_strips(), at.inner, at);
    } else {
      multiply(inner_strips(), at.inner, outer_strips(at), at.outer, at);
    }
  }

  void fill_queue(const Place& at, const Place& next) {
    queue_.clear();
    const Range rows = team_.rows_outer ? at.outer : at.inner;
    const Range cols = team_.rows_outer ? at.inner : at.outer;
    for (size_t i = 0; at.last_chunk && i < p_.memories_.size(); ++i) {
      const TileMemory& m = p_.memories_[i];
      queue_.add(static_cast<const std::byte*>(m.data) + batch_ * m.batch_stride +
                     rows.begin * m.row_stride + cols.begin * m.element_bytes,
                 rows.size(), m.row_stride, cols.size() * m.element_bytes);
    }
    const bool stays = p_.chunks_ == 1 && next.outer.begin == at.outer.begin;
    if (next.packs_outer) {
      outer_.add_source_to(queue_, batch_, next.outer, next.steps);
    } else if (!stays) {
      outer_strips(next).add_to(queue_, next.outer, next.steps);
    }
    if (next.packs_inner) {
      inner_.add_source_to(queue_, batch_, next.inner, next.steps);
    } else {
      inner_strips().add_to(queue_, next.inner, next.steps);
    }
  }

  void multiply(const Strips& a, Range rows, const Strips& b, Range cols, const Place& at) {
    const Micro& micro = p_.micro_;
    const int64_t ld = ceil_div(cols.size(), 16) * 16;
    for (int64_t col = cols.begin; col < cols.end; col += micro.width()) {
      const int64_t vectors =
          ceil_div(std::min<int64_t>(cols.end - col, micro.width()), micro.lanes);
      for (int64_t row = rows.begin; row < rows.end; row += micro.rows) {
        const int64_t count = std::min<int64_t>(rows.end - row, micro.rows);
        micro.products[count - 1][vectors - 1](at.steps.size(), a.at(row, at.steps.begin),
                                               a.strip_bytes, a.step_bytes,
                                               b.at(col, at.steps.begin), b.step_bytes,
                                               tile_ + (row - rows.begin) * ld + (col - cols.begin),
                                               ld, !at.first_chunk, queue_.take(at.steps.size()));
      }
    }
    if (!at.last_chunk) return;
    p_.sink_(p_.context_, {.data = tile_,
                           .ld = ld,
                           .batch = batch_,
                           .row = rows.begin,
                           .col = cols.begin,
                           .rows = rows.size(),
                           .cols = cols.size()});
  }

  const Product& p_;
  const int64_t batch_;
  const Team& team_;
  const Operand &outer_, &inner_;
  const bool packs_inner_;
  const Range outer_range_, inner_range_;
  const int64_t outer_blocks_, inner_blocks_;
  int64_t first_inner_ = 0,
          own_inner_ = 0;  // the inner blocks where this thread begins; it packs them
  std::byte* const outer_panels_;
  std::byte* const inner_panels_;
  float* const tile_;
  AheadQueue queue_;
};

// Rough time of the slowest thread, in multiply-adds per element of K: products, and packing, which
// costs about as much as forty of them; double where panels go through L3 to other threads.
double Product::cost(const Team& team) const {
  constexpr double kPack = 40;
  const Operand &o = outer(team), &i = inner(team);
  const auto largest_part = [](const Operand& x, int parts) {
    return static_cast<double>(ceil_div(ceil_div(x.size(), x.unit()), parts) * x.unit());
  };
  const double o_part = largest_part(o, team.outer), i_part = largest_part(i, team.inner);
  return o_part * i_part + (o.ready() ? 0 : kPack * o_part) +
         (i.ready() ? 0 : 2 * kPack * i_part / team.outer);
}

Team Product::choose_team(int threads) const {
  Team best;
  double best_cost = 0;
  for (int along_inner = 1; along_inner <= threads; ++along_inner) {
    if (threads % along_inner != 0) continue;
    for (const bool rows_outer : {false, true}) {
      const Team team{threads / along_inner, along_inner, rows_outer};
      const double team_cost = cost(team);
      if (best_cost == 0 || team_cost < best_cost) best = team, best_cost = team_cost;
    }
  }
  return best;
}

void Product::run() const {
  if (spec_.m == 0 || spec_.n == 0 || spec_.batch == 0) return;
  // Too little work is done sooner than a team is woken.
  constexpr double kWorthAThread = 200e3;
  const double work = static_cast<double>(spec_.m) * static_cast<double>(spec_.n) *
                      static_cast<double>(spec_.k + 1) * static_cast<double>(spec_.batch);
  const int threads =
      static_cast<int>(std::clamp(work / kWorthAThread, 1.0, static_cast<double>(spec_.threads)));
  const Team single = choose_team(1);
  if (threads == 1) {
    return run_batches({0, spec_.batch}, single, 0,
                       thread_buffers().inner.reserve(inner_bytes(single)));
  }
  // Whole products for each thread first; all threads together make those left over.
  const Team all = choose_team(threads);
  const int64_t alone = spec_.batch / threads, rest = alone * threads;
  std::byte* shared =
      rest < spec_.batch ? thread_buffers().inner.reserve(inner_bytes(all)) : nullptr;
#pragma omp parallel num_threads(threads)
  {
    const int thread = omp_get_thread_num();
    if (rest < spec_.batch) run_batches({rest, spec_.batch}, all, thread, shared);
    if (alone > 0) {
#pragma omp barrier
      run_batches({thread * alone, (thread + 1) * alone}, single, 0,
                  thread_buffers().inner.reserve(inner_bytes(single)));
    }
  }
}

void Product::run_batches(Range batches, const Team& team, int thread,
                          std::byte* inner_panels) const {
  const Operand& in = inner(team);
  for (int64_t batch = batches.begin; batch < batches.end; ++batch) {
    const bool packs = !in.ready() && (batch == batches.begin || in.differs_by_batch());
    if (packs && team.outer > 1 && batch > batches.begin) {  // the panels are still in use
#pragma omp barrier
    }
    Walk(*this, batch, team, thread, packs, inner_panels).run();
  }
}

void check_dtype(DType dtype) {
  if (dtype == DType::kF32 || dtype == DType::kBF16) return;
  throw Error("gemm", "matrices are f32 or bf16, got {}", name_of(dtype));
}

void check(const GemmSpec& spec) {
  CENTAVO_CHECK(spec.m >= 0 && spec.n >= 0 && spec.k >= 0 && spec.batch >= 0 && spec.threads > 0);
  check_dtype(spec.a.dtype);
  check_dtype(spec.b.dtype);
}

struct Store {
  const GemmOutput& output;
  MicroStore store;
  int64_t bytes;  // of an element

  TileMemory memory() const {
    return {output.data, bytes, output.row_stride * bytes, output.batch_stride * bytes};
  }
};

void store_tile(void* context, const GemmTile& tile) {
  const auto& [output, store, bytes] = *static_cast<const Store*>(context);
  auto* to = static_cast<std::byte*>(output.data) +
             (tile.batch * output.batch_stride + tile.row * output.row_stride + tile.col) * bytes;
  for (int64_t r = 0; r < tile.rows; ++r, to += output.row_stride * bytes) {
    store(tile.data + r * tile.ld, to, output.dtype, output.accumulate, tile.cols);
  }
}

template <class B>
void gemm_to(const GemmSpec& spec, const void* a, const B& b, const GemmOutput& c) {
  check_dtype(c.dtype);
  Store store{c, micro(spec.compute, spec.level).store, size_of(c.dtype)};
  const TileMemory memory = store.memory();
  gemm(spec, a, b, store_tile, &store, {&memory, 1});
}

}  // namespace

void gemm(const GemmSpec& spec, const void* a, const void* b, TileSink sink, void* context,
          std::span<const TileMemory> memories) {
  check(spec);
  const Micro& table = micro(spec.compute, spec.level);
  const Operand rows = Operand::a(spec, table, a), cols = Operand::b(spec, table, b);
  Product(spec, rows, cols, sink, context, memories).run();
}

void gemm(const GemmSpec& spec, const void* a, const PackedMatrix& b, TileSink sink, void* context,
          std::span<const TileMemory> memories) {
  check(spec);
  const Micro& table = micro(spec.compute, spec.level);
  const Operand rows = Operand::a(spec, table, a), cols = Operand::b(spec, table, b);
  Product(spec, rows, cols, sink, context, memories).run();
}

void gemm(const GemmSpec& spec, const void* a, const void* b, const GemmOutput& c) {
  gemm_to(spec, a, b, c);
}

void gemm(const GemmSpec& spec, const void* a, const PackedMatrix& b, const GemmOutput& c) {
  gemm_to(spec, a, b, c);
}

int64_t packed_bytes(int64_t k, int64_t n, Compute compute, CpuLevel level) {
  const Micro& table = micro(compute, level);
  return ceil_div(n, table.width()) * table.width() * table.steps(k) * int64_t{sizeof(float)};
}

PackedMatrix pack_matrix(const MatrixLayout& layout, int64_t k, int64_t n, const void* b,
                         Compute compute, void* packed, int threads, CpuLevel level) {
  check_dtype(layout.dtype);
  const Micro& table = micro(compute, level);
  const GemmSpec spec{
      .n = n, .k = k, .b = layout, .compute = compute, .threads = threads, .level = level};
  const Operand cols = Operand::b(spec, table, b);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
  for (int64_t col = 0; col < n; col += cols.unit()) {
    cols.pack(0, {col, std::min(col + cols.unit(), n)}, {0, table.steps(k)}, 0,
              static_cast<std::byte*>(packed));
  }
  return {.data = packed, .k = k, .n = n, .compute = compute, .level = level};
}

}  // namespace centavo::cpu
