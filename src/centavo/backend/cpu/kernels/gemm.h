// Matrix products C[M,N] = A[M,K] B[K,N], batched, with finished blocks of C handed on while they
// are in cache. Raw pointers and strides only: it knows nothing of graphs. Accumulation is always
// in fp32.
#pragma once

#include <cstdint>
#include <span>

#include "centavo/backend/cpu/cpu_level.h"
#include "centavo/backend/cpu/kernels/micro.h"
#include "centavo/base/dtype.h"

namespace centavo::cpu {

// How a matrix lies in memory. Strides count elements, may be negative or zero; so a transposed or
// broadcast operand costs no copy. Data needs no alignment beyond its element's.
struct MatrixLayout {
  DType dtype = DType::kF32;  // kF32 or kBF16
  int64_t row_stride = 0;
  int64_t col_stride = 1;
  int64_t batch_stride = 0;
};

struct GemmSpec {
  int64_t m = 0, n = 0, k = 0;  // any of them may be 0; K=0 makes C zero
  int64_t batch = 1;
  MatrixLayout a, b;  // of A[M,K] and B[K,N]
  Compute compute = Compute::kF32;
  int threads = 1;               // OpenMP threads; 1 opens no parallel region
  CpuLevel level = cpu_level();  // instructions to use
};

// A finished block of C: element (i, j) of it is data[i * ld + j], and belongs to C at
// (batch, row + i, col + j). `data` is aligned to 64 bytes, ld is a multiple of 16, and the
// elements from `cols` up to the next multiple of 16 may be read but mean nothing.
struct GemmTile {
  const float* data;
  int64_t ld;
  int64_t batch, row, col;
  int64_t rows, cols;
};

// Called from the threads of the product, each block of C exactly once and in no fixed order.
using TileSink = void (*)(void* context, const GemmTile& tile);

// Memory laid out like C that a sink reads or writes at the tile's place: its lines are fetched
// while the tile is being computed. Only speed depends on it. Strides count bytes.
struct TileMemory {
  const void* data = nullptr;
  int64_t element_bytes = 0;
  int64_t row_stride = 0;
  int64_t batch_stride = 0;
};

// Where a plain product goes. Strides count elements; columns are contiguous.
struct GemmOutput {
  void* data = nullptr;
  DType dtype = DType::kF32;  // kF32 or kBF16
  int64_t row_stride = 0;
  int64_t batch_stride = 0;
  bool accumulate = false;  // C += A B; the sum is rounded once
};

// A B operand packed once and used in many products: weights. A view; the caller owns `data`.
struct PackedMatrix {
  const void* data = nullptr;
  int64_t k = 0, n = 0;
  Compute compute = Compute::kF32;
  CpuLevel level = cpu_level();
};

// Every element of C is the same bits for every number of threads and every place in memory.
// Throws Error on a dtype other than f32 and bf16; dimensions must not be negative. More than
// four `memories` may be ignored.
void gemm(const GemmSpec& spec, const void* a, const void* b, TileSink sink, void* context,
          std::span<const TileMemory> memories = {});
void gemm(const GemmSpec& spec, const void* a, const void* b, const GemmOutput& c);
// With B packed: spec.b is not looked at, and every product of the batch uses the same B.
void gemm(const GemmSpec& spec, const void* a, const PackedMatrix& b, TileSink sink, void* context,
          std::span<const TileMemory> memories = {});
void gemm(const GemmSpec& spec, const void* a, const PackedMatrix& b, const GemmOutput& c);

// Bytes that pack_matrix writes for a B[K,N]; its destination is aligned to 64 bytes.
int64_t packed_bytes(int64_t k, int64_t n, Compute compute, CpuLevel level = cpu_level());
// Packs B[K,N], which lies as `layout` says, into `packed`.
PackedMatrix pack_matrix(const MatrixLayout& layout, int64_t k, int64_t n, const void* b,
                         Compute compute, void* packed, int threads = 1,
                         CpuLevel level = cpu_level());

}  // namespace centavo::cpu
