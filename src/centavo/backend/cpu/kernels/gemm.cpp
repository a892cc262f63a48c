// Blocking for caches and threads: which operand is packed when, by whom, and in what order blocks
// of C are made. The arithmetic is in micro.h.
//
// The outer operand's blocks are shared out among the threads and packed by their owner, one at a
// time, just before use: they stay in its L2. The inner operand is read once for each outer block;
// it is packed whole beforehand by all threads together, unless it can be read where it lies.
#include "centavo/backend/cpu/kernels/gemm.h"

#include <algorithm>
#include <omp.h>

#include "centavo/backend/cpu/kernels/scratch.h"
#include "centavo/base/error.h"

namespace centavo::cpu {
namespace {

// A block of C is at most kBlock x kBlock, a multiple of every micro-kernel's rows and width.
constexpr int64_t kBlock = 96;
// Steps of K taken at once. A micro-panel of A (8 x kMaxChunk words) fits half of L1.
constexpr int64_t kMaxChunk = 512;

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
int64_t round_up(int64_t a, int64_t b) {
  return ceil_div(a, b) * b;
}

struct Range {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

// The part-th of `parts` nearly equal parts of [0, size), cut at multiples of `unit`.
Range share(int64_t size, int64_t unit, int64_t part, int64_t parts) {
  const int64_t units = ceil_div(size, unit);
  return {std::min(size, units * part / parts * unit),
          std::min(size, units * (part + 1) / parts * unit)};
}

// Rows of A or columns of B as micro-kernels read them: element group `unit` wide, `unit_bytes`
// apart.
struct Strips {
  const std::byte* data = nullptr;
  int64_t origin = 0;  // the row or column at `data`
  int64_t unit = 1;
  int64_t unit_bytes = 0;
  int64_t row_bytes = 0;   // from one row to the next inside a unit
  int64_t step_bytes = 0;  // from one word of K to the next

  const std::byte* at(int64_t index, int64_t step) const {
    return data + (index - origin) / unit * unit_bytes + step * step_bytes;
  }
};

// One operand, seen as `size` strips along K.
struct Side {
  const std::byte* data = nullptr;
  DType dtype = DType::kF32;
  int64_t size = 0;      // M or N
  int64_t stride = 0;    // elements from strip to strip
  int64_t k_stride = 0;  // elements along K
  int64_t batch_stride = 0;
  int64_t unit = 1;     // strips in a packed panel
  bool ready = false;   // needs no packing: in place, or packed before
  bool packed = false;  // data is a PackedMatrix

  int64_t panel_bytes(int64_t steps) const { return steps * unit * int64_t{sizeof(float)}; }
  int64_t bytes(int64_t count, int64_t steps) const {
    return ceil_div(count, unit) * panel_bytes(steps);
  }
};

struct Team {
  int outer = 1, inner = 1;  // threads along each operand
  bool rows_outer = false;
};

struct Buffers {
  Scratch inner, outer, block;
};
Buffers& thread_buffers() {
  static thread_local Buffers buffers;
  return buffers;
}

class Product {
 public:
  Product(const GemmSpec& spec, const void* a, const void* b, const PackedMatrix* packed,
          TileSink sink, void* context);
  void run();

 private:
  Team choose_team(int threads) const;
  double cost(const Team& team) const;
  void run_batches(int64_t first, int64_t last, const Team& team, int thread, std::byte* inner);
  void run_outer(int64_t batch, const Team& team, int thread, const Strips& inner);
  void make_block(int64_t batch, const Strips& a, Range rows, const Strips& b, Range cols,
                  float* block) const;
  void pack_panels(const Side& side, int64_t batch, Range range, std::byte* dst) const;
  Strips strips(const Side& side, int64_t batch, int64_t origin, const std::byte* packed) const;
  const Side& outer(const Team& team) const { return team.rows_outer ? a_ : b_; }
  const Side& inner(const Team& team) const { return team.rows_outer ? b_ : a_; }
  int64_t inner_bytes(const Team& team) const {
    return inner(team).ready ? 0 : inner(team).bytes(inner(team).size, steps_);
  }

  const GemmSpec& spec_;
  const Micro& micro_;
  const int64_t steps_;
  const TileSink sink_;
  void* const context_;
  Side a_, b_;
};

void check_dtype(DType dtype) {
  if (dtype == DType::kF32 || dtype == DType::kBF16) return;
  throw Error("gemm", "matrices are f32 or bf16, got {}", name_of(dtype));
}

Product::Product(const GemmSpec& spec, const void* a, const void* b, const PackedMatrix* packed,
                 TileSink sink, void* context)
    : spec_(spec),
      micro_(micro(spec.compute, spec.level)),
      steps_(micro_.steps(spec.k)),
      sink_(sink),
      context_(context) {
  CENTAVO_CHECK(spec.m >= 0 && spec.n >= 0 && spec.k >= 0 && spec.batch >= 0);
  check_dtype(spec.a.dtype);
  a_ = {.data = static_cast<const std::byte*>(a),
        .dtype = spec.a.dtype,
        .size = spec.m,
        .stride = spec.a.row_stride,
        .k_stride = spec.a.col_stride,
        .batch_stride = spec.a.batch_stride,
        .unit = micro_.rows,
        .ready = spec.a.col_stride == 1 && micro_.reads_in_place(spec.a.dtype, spec.k)};
  if (packed) {
    CENTAVO_CHECK(packed->k == spec.k && packed->n == spec.n && packed->compute == spec.compute &&
                  packed->level == spec.level);
    b_ = {.data = static_cast<const std::byte*>(packed->data),
          .size = spec.n,
          .unit = micro_.width(),
          .ready = true,
          .packed = true};
  } else {
    check_dtype(spec.b.dtype);
    b_ = {.data = static_cast<const std::byte*>(b),
          .dtype = spec.b.dtype,
          .size = spec.n,
          .stride = spec.b.col_stride,
          .k_stride = spec.b.row_stride,
          .batch_stride = spec.b.batch_stride,
          .unit = micro_.width()};
  }
}

// Rough time of the slowest thread, in multiply-adds: products, and packing at what its memory
// traffic costs (private blocks stay in L2, shared ones travel through L3).
double Product::cost(const Team& team) const {
  constexpr double kPackPrivate = 40, kPackShared = 80;
  const Side &o = outer(team), &i = inner(team);
  const int64_t threads = int64_t{team.outer} * team.inner;
  const auto o_size = static_cast<double>(ceil_div(ceil_div(o.size, o.unit), team.outer) * o.unit);
  const auto i_size = static_cast<double>(ceil_div(ceil_div(i.size, i.unit), team.inner) * i.unit);
  return o_size * i_size + (o.ready ? 0 : kPackPrivate * o_size) +
         (i.ready ? 0 : kPackShared * static_cast<double>(i.size) / static_cast<double>(threads));
}

Team Product::choose_team(int threads) const {
  Team best;
  double best_cost = 0;
  for (int inner_threads = 1; inner_threads <= threads; ++inner_threads) {
    if (threads % inner_threads != 0) continue;
    for (const bool rows_outer : {false, true}) {
      const Team team{threads / inner_threads, inner_threads, rows_outer};
      const double team_cost = cost(team);
      if (best_cost == 0 || team_cost < best_cost) best = team, best_cost = team_cost;
    }
  }
  return best;
}

void Product::run() {
  if (spec_.m == 0 || spec_.n == 0 || spec_.batch == 0) return;
  // Too little work is done sooner than a team is woken.
  constexpr double kWorthAThread = 200e3;
  const double work = static_cast<double>(spec_.m) * static_cast<double>(spec_.n) *
                      static_cast<double>(spec_.k + 1) * static_cast<double>(spec_.batch);
  const int threads =
      static_cast<int>(std::clamp(work / kWorthAThread, 1.0, double(spec_.threads)));
  // Whole batches for each thread first; all threads together make those left over.
  const int64_t alone = spec_.batch / threads;
  const Team single = choose_team(1), all = choose_team(threads);
  std::byte* shared = alone * threads < spec_.batch || threads == 1
                          ? thread_buffers().inner.reserve(inner_bytes(all))
                          : nullptr;
  if (threads == 1) return run_batches(0, spec_.batch, single, 0, shared);
#pragma omp parallel num_threads(threads)
  {
    const int thread = omp_get_thread_num();
    if (alone > 0) {
      std::byte* own = thread_buffers().inner.reserve(inner_bytes(single));
      run_batches(thread * alone, (thread + 1) * alone, single, 0, own);
    }
#pragma omp barrier
    run_batches(alone * threads, spec_.batch, all, thread, shared);
  }
}

void Product::run_batches(int64_t first, int64_t last, const Team& team, int thread,
                          std::byte* buffer) {
  const Side& side = inner(team);
  const int threads = team.outer * team.inner;
  for (int64_t batch = first; batch < last; ++batch) {
    if (!side.ready && (batch == first || side.batch_stride != 0)) {
      if (threads > 1) {
#pragma omp barrier
      }
      const Range range = share(side.size, side.unit, thread, threads);
      pack_panels(side, batch, range, buffer + range.begin / side.unit * side.panel_bytes(steps_));
      if (threads > 1) {
#pragma omp barrier
      }
    }
    run_outer(batch, team, thread, strips(side, batch, 0, buffer));
  }
}

void Product::run_outer(int64_t batch, const Team& team, int thread, const Strips& inner_strips) {
  const Side &o = outer(team), &i = inner(team);
  const Range mine = share(o.size, o.unit, thread / team.inner, team.outer);
  const Range across = share(i.size, i.unit, thread % team.inner, team.inner);
  Buffers& buffers = thread_buffers();
  auto* block = reinterpret_cast<float*>(buffers.block.reserve(kBlock * kBlock * sizeof(float)));
  std::byte* own = o.ready ? nullptr : buffers.outer.reserve(o.bytes(kBlock, steps_));
  for (int64_t at = mine.begin; at < mine.end; at += kBlock) {
    const Range outer_range{at, std::min(at + kBlock, mine.end)};
    if (!o.ready) pack_panels(o, batch, outer_range, own);
    const Strips outer_strips = strips(o, batch, o.ready ? 0 : at, own);
    for (int64_t in = across.begin; in < across.end; in += kBlock) {
      const Range inner_range{in, std::min(in + kBlock, across.end)};
      if (team.rows_outer) {
        make_block(batch, outer_strips, outer_range, inner_strips, inner_range, block);
      } else {
        make_block(batch, inner_strips, inner_range, outer_strips, outer_range, block);
      }
    }
  }
}

void Product::make_block(int64_t batch, const Strips& a, Range rows, const Strips& b, Range cols,
                         float* block) const {
  const int64_t ld = round_up(cols.size(), 16);
  const int64_t chunks = std::max<int64_t>(1, ceil_div(steps_, kMaxChunk));
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const Range steps = share(steps_, 1, chunk, chunks);
    for (int64_t col = cols.begin; col < cols.end; col += micro_.width()) {
      const auto vectors =
          ceil_div(std::min<int64_t>(cols.end - col, micro_.width()), micro_.lanes);
      for (int64_t row = rows.begin; row < rows.end; row += micro_.rows) {
        const int64_t count = std::min<int64_t>(rows.end - row, micro_.rows);
        micro_.products[count - 1][vectors - 1](
            steps.size(), a.at(row, steps.begin), a.row_bytes, a.step_bytes, b.at(col, steps.begin),
            b.step_bytes, block + (row - rows.begin) * ld + (col - cols.begin), ld, chunk > 0);
      }
    }
  }
  sink_(context_, {.data = block,
                   .ld = ld,
                   .batch = batch,
                   .row = rows.begin,
                   .col = cols.begin,
                   .rows = rows.size(),
                   .cols = cols.size()});
}

void Product::pack_panels(const Side& side, int64_t batch, Range range, std::byte* dst) const {
  const std::byte* src = side.data + batch * side.batch_stride * size_of(side.dtype);
  for (int64_t at = range.begin; at < range.end; at += side.unit) {
    micro_.pack(dst, side.unit, src + at * side.stride * size_of(side.dtype), side.dtype,
                side.stride, side.k_stride, std::min(side.unit, range.end - at), spec_.k);
    dst += side.panel_bytes(steps_);
  }
}

Strips Product::strips(const Side& side, int64_t batch, int64_t origin,
                       const std::byte* packed) const {
  constexpr int64_t kWord = sizeof(float);
  if (side.ready && !side.packed) {
    const int64_t row_bytes = side.stride * size_of(side.dtype);
    return {.data = side.data + batch * side.batch_stride * size_of(side.dtype),
            .unit = 1,
            .unit_bytes = row_bytes,
            .row_bytes = row_bytes,
            .step_bytes = kWord};
  }
  return {.data = side.packed ? side.data : packed,
          .origin = origin,
          .unit = side.unit,
          .unit_bytes = side.panel_bytes(steps_),
          .row_bytes = kWord,
          .step_bytes = side.unit * kWord};
}

struct Store {
  const GemmOutput& output;
  const Micro& table;
};

void store_tile(void* context, const GemmTile& tile) {
  const auto& [output, table] = *static_cast<const Store*>(context);
  const int64_t size = size_of(output.dtype);
  auto* to = static_cast<std::byte*>(output.data) +
             (tile.batch * output.batch_stride + tile.row * output.row_stride + tile.col) * size;
  for (int64_t r = 0; r < tile.rows; ++r, to += output.row_stride * size) {
    table.store(tile.data + r * tile.ld, to, output.dtype, output.accumulate, tile.cols);
  }
}

}  // namespace

void gemm(const GemmSpec& spec, const void* a, const void* b, TileSink sink, void* context) {
  Product(spec, a, b, nullptr, sink, context).run();
}

void gemm(const GemmSpec& spec, const void* a, const PackedMatrix& b, TileSink sink,
          void* context) {
  Product(spec, a, nullptr, &b, sink, context).run();
}

void gemm(const GemmSpec& spec, const void* a, const void* b, const GemmOutput& c) {
  check_dtype(c.dtype);
  Store store{c, micro(spec.compute, spec.level)};
  gemm(spec, a, b, store_tile, &store);
}

void gemm(const GemmSpec& spec, const void* a, const PackedMatrix& b, const GemmOutput& c) {
  check_dtype(c.dtype);
  Store store{c, micro(spec.compute, spec.level)};
  gemm(spec, a, b, store_tile, &store);
}

int64_t packed_bytes(int64_t k, int64_t n, Compute compute, CpuLevel level) {
  const Micro& table = micro(compute, level);
  return round_up(n, table.width()) * table.steps(k) * int64_t{sizeof(float)};
}

PackedMatrix pack_matrix(const MatrixLayout& layout, int64_t k, int64_t n, const void* b,
                         Compute compute, void* packed, int threads, CpuLevel level) {
  check_dtype(layout.dtype);
  const Micro& table = micro(compute, level);
  const int64_t width = table.width(), panel = packed_bytes(k, width, compute, level);
  auto* src = static_cast<const std::byte*>(b);
  auto* dst = static_cast<std::byte*>(packed);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
  for (int64_t col = 0; col < n; col += width) {
    table.pack(dst + col / width * panel, width,
               src + col * layout.col_stride * size_of(layout.dtype), layout.dtype,
               layout.col_stride, layout.row_stride, std::min(width, n - col), k);
  }
  return {.data = packed, .k = k, .n = n, .compute = compute, .level = level};
}

}  // namespace centavo::cpu
