// Sums over the contributions of several ranks, always in their order and in fp32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "centavo/base/dtype.h"

namespace centavo::dist {

// slots[i][begin, end) of every i become scale * (slots[0] + slots[1] + ...). f32, bf16 or f64
// (f64 is summed in f64).
void sum_in_place(std::span<std::byte* const> slots, int64_t begin, int64_t end, DType dtype,
                  double scale);
// out[0, end - begin) = slots[0] + slots[1] + ... over [begin, end), f32 or bf16.
void sum_to(std::span<std::byte* const> slots, int64_t begin, int64_t end, DType dtype, float* out);
// slots[i][begin, end) of every i become scale * in, rounded to the dtype.
void store_to(std::span<std::byte* const> slots, int64_t begin, int64_t end, DType dtype,
              const float* in, double scale);
// out += in, n elements; the order of the operands is that of a + b with a = in.
void add(const float* in, float* out, int64_t n);

// Part `index` of `parts` of [0, count), at multiples of `unit` elements.
struct Span {
  int64_t begin, end;
};
Span part_of(int64_t count, int index, int parts, int64_t unit = 16);

}  // namespace centavo::dist
