// Packing and products of attention's blocks.
#include "centavo/backend/cpu/kernels/attention_blocks.h"

namespace centavo::cpu {

void Prefetcher::fetch() {
  constexpr int64_t kRows = 24, kLine = 64;
  for (int64_t i = 0; i < kRows && current_ < queued_; ++i) {
    const Queued& q = queue_[current_];
    const std::byte* at = q.data + row_ * q.token_bytes;
    for (int64_t b = 0; b < row_bytes_; b += kLine) {
      q.write ? __builtin_prefetch(at + b, 1, 2) : __builtin_prefetch(at + b, 0, 2);
    }
    if (++row_ == q.tokens) ++current_, row_ = 0;
  }
}

void pack_right(const AttentionTools& tools, const Right& right, const std::byte* src,
                int64_t stride, int64_t k_stride, int64_t columns, int64_t k) {
  const int64_t lanes = tools.micro.lanes;
  for (int64_t p = 0; p < right.panels.parts; ++p) {
    const int64_t first = right.panels.begin(p) * lanes, width = right.panels.count(p) * lanes;
    tools.micro.pack(right.words + first * right.steps, width, 0,
                     src + first * stride * size_of(tools.dtype), tools.dtype, stride, k_stride,
                     std::min(width, columns - first), k);
  }
}

Left left_rows(const AttentionTools& tools, const ConstHeadView& view, const Tokens& tokens,
               int64_t head_dim, uint32_t* words) {
  const std::byte* first = view.at(tokens.first);
  if (tools.micro.reads_in_place(tools.dtype, head_dim)) return {first, view.token_bytes, kWord};
  tools.micro.pack(words, tokens.count, 0, first, tools.dtype, view.stride, 1, tokens.count,
                   head_dim);
  return {reinterpret_cast<const std::byte*>(words), kWord, tokens.count * kWord};
}

void multiply(const AttentionTools& tools, const Left& a, int64_t rows, const Right& b,
              int64_t panel, int64_t first, int64_t steps, float* c, int64_t ldc, bool accumulate) {
  const int64_t vectors = b.panels.count(panel), width = vectors * tools.micro.lanes;
  const uint32_t* words =
      b.words + b.panels.begin(panel) * tools.micro.lanes * b.steps + first * width;
  const Cut tiles(rows, tools.most_rows[vectors]);
  for (int64_t t = 0; t < tiles.parts; ++t) {
    const int64_t row = tiles.begin(t);
    tools.micro.products[tiles.count(t) - 1][vectors - 1](steps, a.data + row * a.row, a.row,
                                                          a.step, words, width * kWord,
                                                          c + row * ldc, ldc, accumulate, {});
  }
}

}  // namespace centavo::cpu
