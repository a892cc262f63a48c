// What attention does between its products, on rows in cache: softmax, and from S and dP the
// operands P and dS. One table for each level of instructions and each kind of word that products
// read.
#pragma once

#include <cstdint>

#include "centavo/backend/cpu/cpu_level.h"
#include "centavo/base/dtype.h"

namespace centavo::cpu {

// Which columns of a tile count: row r sees the first `columns + r * step` of them, but not more
// than `limit` nor less than none.
struct Visible {
  int64_t columns, step, limit;
  int64_t in_row(int64_t r) const {
    const int64_t seen = columns + r * step;
    return seen < 0 ? 0 : seen < limit ? seen : limit;
  }
};

// The running softmax of a row: the largest logit so far, the sum of exp(scale (logit - max)), and
// the factor that takes what was summed under the previous maximum to the new one.
struct SoftmaxState {
  float max = -__builtin_inff(), sum = 0, rescale = 0;
};

// S and dP of a few q rows and kv columns (whole vectors), and where P and dS go. With an odd
// number of rows, one more of zeros is written.
struct GradientTile {
  const float *s, *d_p;
  int64_t ld, rows, columns;
  float log2_scale;       // scale * log2(e)
  const float* log2_sum;  // per row: lse * log2(e)
  const float* delta;     // per row: dO . O
  Visible visible;
  uint32_t *p, *d_s;  // words along q: word (r, c) at (r / depth) * words_ld + c
  int64_t words_ld;
  uint32_t* d_s_rows;  // words along kv: row r at r * rows_ld; not written where depth is 1
  int64_t rows_ld;
};

struct AttentionRows {
  // Takes the next block of columns of S into the rows' states, and replaces S by
  // exp(scale (S - max)) in words along the columns. s: rows x columns (whole vectors), `ld`
  // floats apart before and after; scale is given as scale * log2(e).
  void (*softmax)(float* s, int64_t ld, int64_t rows, int64_t columns, Visible visible,
                  float log2_scale, SoftmaxState* states);
  // P = exp(scale S - lse) and dS = P (dP - delta), as words.
  void (*gradient)(const GradientTile& tile);
  // dst[i] = factor * src[i], rounded to the table's dtype.
  void (*store)(const float* src, float factor, void* dst, int64_t count);
  // The sum of a[i] * b[i], of the table's dtype.
  float (*dot)(const void* a, const void* b, int64_t count);
};

// For operands of `dtype` (f32 or bf16). It lives as long as the program.
const AttentionRows& attention_rows(DType dtype, CpuLevel level);

}  // namespace centavo::cpu
