// The register-blocked products on packed panels that gemm and attention are made of, one table for
// each level of instructions. No threads, no blocking for caches: that is the caller's part.
//
// A panel is a sequence of steps along K. A step is a row of 32-bit words, and a word holds one
// fp32 or two bf16 that follow each other in K (the earlier one in the lower half).
#pragma once

#include <cstdint>

#include "centavo/backend/cpu/cpu_level.h"
#include "centavo/base/dtype.h"

namespace centavo::cpu {

// Element types of a product. kBF16 rounds fp32 operands to bf16 (nearest, ties to even) before
// multiplying, and multiplies bf16 pairs in one instruction where the level has it; otherwise it
// does the same in fp32 instructions. Subnormal bf16 numbers may count as zero. Sums are always
// fp32.
enum class Compute : uint8_t { kF32, kBF16 };

constexpr int kMaxMicroRows = 8;
constexpr int kMaxMicroVectors = 4;

// Cache lines that a product fetches into L2 for whatever comes next, at most two in every four
// steps: `count` lines from `at`, `stride` bytes apart.
struct MicroAhead {
  const void* at = nullptr;
  int64_t stride = 0;
  int64_t count = 0;
};

// C[rows, vectors * lanes] = (accumulate ? C : 0) + A B, over `steps` words of K. Word (i, s) of A
// is at a + i * a_row + s * a_step: a packed panel, or a plain matrix whose K is contiguous. Step s
// of B is the words at b + s * b_step. `ldc` counts floats, the other strides bytes; any alignment
// will do, 64 bytes are fastest for B and C. The sum over K is made first, then added to C.
using MicroProduct = void (*)(int64_t steps, const void* a, int64_t a_row, int64_t a_step,
                              const void* b, int64_t b_step, float* c, int64_t ldc, bool accumulate,
                              const MicroAhead& ahead);

// Packs `count` strips, rows of A or columns of B, whose elements (i, k) are at i * stride +
// k * k_stride, into ceil(k / depth) steps of panels `width` strips wide and `panel_bytes` apart:
// panel[step][i]. Words of the last panel past `count` and the missing half of an odd last word
// become zero.
using MicroPack = void (*)(void* dst, int64_t width, int64_t panel_bytes, const void* src,
                           DType dtype, int64_t stride, int64_t k_stride, int64_t count, int64_t k);

// dst[i] = (accumulate ? dst[i] : 0) + src[i], rounded to dst's dtype (f32 or bf16).
using MicroStore = void (*)(const float* src, void* dst, DType dtype, bool accumulate,
                            int64_t count);

struct Micro {
  DType word;   // what panels hold: kF32 or kBF16
  bool rounds;  // packing rounds fp32 elements to bf16 although panels hold fp32
  int depth;    // elements of K in a word: 1 or 2
  int lanes;    // fp32 numbers in a vector
  int rows;     // the best block is rows x (vectors * lanes)
  int vectors;
  // products[r - 1][v - 1] makes r rows of v vectors; null where the registers do not suffice. All
  // up to (rows, vectors) are there; on AVX-512 (8, 3) and (6, 4).
  MicroProduct products[kMaxMicroRows][kMaxMicroVectors];
  MicroPack pack;
  MicroStore store;

  int width() const { return vectors * lanes; }
  int64_t steps(int64_t k) const { return (k + depth - 1) / depth; }
  // Whether products can read an operand of this type where it lies, K being contiguous.
  bool reads_in_place(DType dtype, int64_t k) const {
    return dtype == word && !rounds && k % depth == 0;
  }
};

// The table for a kind of product at a level; it lives as long as the program.
const Micro& micro(Compute compute, CpuLevel level = cpu_level());

}  // namespace centavo::cpu
