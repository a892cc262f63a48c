// What attention's forward and backward share: cutting tokens into blocks, operands as the
// micro-kernels read them, and the product of a block. Internal to the attention kernels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "centavo/backend/cpu/kernels/attention.h"
#include "centavo/backend/cpu/kernels/attention_rows.h"
#include "centavo/backend/cpu/kernels/micro.h"

namespace centavo::cpu {

constexpr float kLog2E = 1.44269504f;
constexpr int64_t kWord = sizeof(uint32_t);

struct Tokens {
  int64_t first, count;
};

// [0, size) in the fewest nearly equal parts of at most `largest`; the larger ones come first.
struct Cut {
  int64_t size, parts;
  Cut(int64_t n, int64_t largest)
      : size(n), parts((n + largest - 1) / largest), least_(parts ? n / parts : 0) {}
  int64_t count(int64_t part) const { return least_ + (part < larger()); }
  int64_t begin(int64_t part) const { return part * least_ + std::min(part, larger()); }

 private:
  int64_t larger() const { return size - parts * least_; }
  int64_t least_;
};

// The kernels that a spec asks for.
struct AttentionTools {
  explicit AttentionTools(const AttentionSpec& spec)
      : micro(cpu::micro(spec.dtype == DType::kBF16 ? Compute::kBF16 : Compute::kF32, spec.level)),
        rows(attention_rows(spec.dtype, spec.level)),
        dtype(spec.dtype) {
    for (int v = 1; v <= kMaxMicroVectors; ++v) {
      while (most_rows[v] < kMaxMicroRows && micro.products[most_rows[v]][v - 1]) ++most_rows[v];
      if (most_rows[v] > 0) most_vectors = v;
    }
  }
  int64_t vectors(int64_t columns) const { return (columns + micro.lanes - 1) / micro.lanes; }

  const Micro& micro;
  const AttentionRows& rows;
  DType dtype;
  int most_vectors = 0;                          // of a micro-kernel
  int64_t most_rows[kMaxMicroVectors + 1] = {};  // of one with that many vectors
};

// [tokens, head_dim] of one sample and head, where it lies. Byte is std::byte, const or not.
template <class Byte>
struct HeadView {
  Byte* data;
  int64_t stride, token_bytes;  // from token to token, in elements and bytes

  HeadView(const AttentionSpec& spec, auto* all, const AttentionStrides& strides, int64_t head)
      : data(reinterpret_cast<Byte*>(all) +
             size_of(spec.dtype) *
                 (head / spec.heads * strides.batch + head % spec.heads * strides.head)),
        stride(strides.token),
        token_bytes(strides.token * size_of(spec.dtype)) {}
  Byte* at(int64_t token) const { return data + token * token_bytes; }
};
template <class T>
HeadView(const AttentionSpec&, T*, const AttentionStrides&, int64_t)
    -> HeadView<std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>>;
using ConstHeadView = HeadView<const std::byte>;

// A left operand: word (i, s) is at data + i * row + s * step, in bytes.
struct Left {
  const std::byte* data;
  int64_t row, step;
  Left from_row(int64_t i) const { return {data + i * row, row, step}; }
};

// A packed right operand of `steps` words of K: its columns, in whole vectors, are cut into panels
// as wide as the micro-kernels are.
struct Right {
  uint32_t* words;
  int64_t steps;
  Cut panels;  // of vectors

  Right(const AttentionTools& tools, uint32_t* to, int64_t k_steps, int64_t vectors)
      : words(to), steps(k_steps), panels(vectors, tools.most_vectors) {}
};

// Reserves the parts of a workspace one after the other, each aligned to a cache line; from null,
// it measures.
class Carver {
 public:
  explicit Carver(std::byte* base) : base_(reinterpret_cast<uintptr_t>(base)) {}
  template <class T>
  T* take(int64_t count) {
    T* at = reinterpret_cast<T*>(base_ + used_);
    used_ += (static_cast<size_t>(count) * sizeof(T) + 63) / 64 * 64;
    return at;
  }
  size_t used() const { return used_; }

 private:
  uintptr_t base_;
  size_t used_ = 0;
};

// Brings rows of views into L2, a few at a time between other work. Rows of a packed tensor are too
// far apart for the processor to foresee them.
class Prefetcher {
 public:
  explicit Prefetcher(int64_t row_bytes) : row_bytes_(row_bytes) {}
  // What was not fetched yet is forgotten.
  void clear() { queued_ = current_ = row_ = 0; }
  // To be read, or written if Byte is not const.
  template <class Byte>
  void add(const HeadView<Byte>& view, int64_t tokens) {
    if (tokens > 0) {
      queue_[queued_++] = {view.data, view.token_bytes, tokens, !std::is_const_v<Byte>};
    }
  }
  // The next few rows: as many as memory delivers during one or two products.
  void fetch();

 private:
  struct Queued {
    const std::byte* data;
    int64_t token_bytes, tokens;
    bool write;
  };
  int64_t row_bytes_;
  Queued queue_[8];
  int64_t queued_ = 0, current_ = 0, row_ = 0;
};

// Packs the right operand whose element (k, column) is at src + k * k_stride + column * stride.
void pack_right(const AttentionTools& tools, const Right& right, const std::byte* src,
                int64_t stride, int64_t k_stride, int64_t columns, int64_t k);

// Some tokens of `view` as rows of a left operand, K being head_dim: in place where products can
// read them there, else packed into `words`, which has room for steps(head_dim) * tokens.count.
Left left_rows(const AttentionTools& tools, const ConstHeadView& view, const Tokens& tokens,
               int64_t head_dim, uint32_t* words);

// C[rows, columns of the panel] (+)= A B over the words [first, first + steps) of B's panel.
void multiply(const AttentionTools& tools, const Left& a, int64_t rows, const Right& b,
              int64_t panel, int64_t first, int64_t steps, float* c, int64_t ldc, bool accumulate);

}  // namespace centavo::cpu
