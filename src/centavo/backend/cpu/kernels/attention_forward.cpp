// The forward pass of attention: for a block of q tokens, S of one block of kv tokens after the
// other, a running softmax, and O summed up under its latest maximum (Milakov and Gimelshein,
// "Online normalizer calculation for softmax", 2018).
#include <cmath>

#include "centavo/backend/cpu/kernels/attention_blocks.h"
#include "centavo/backend/cpu/kernels/attention_heads.h"

namespace centavo::cpu {
namespace {

constexpr int64_t kRowBlock = 24;      // q tokens whose S stays in L1 or near it
constexpr int64_t kColumnBlock = 512;  // kv tokens of S at once

class Forward {
 public:
  Forward(const AttentionSpec& spec, std::byte* workspace);
  void load_head(const ForwardOperands& operands, int64_t head);
  void run_block(const ForwardOperands& operands, int64_t head, int64_t block);
  size_t workspace_bytes() const { return bytes_; }
  const Cut& row_blocks() const { return row_blocks_; }

 private:
  Tokens kv_tokens(int64_t block) const {  // whole vectors, but for the last
    const int64_t first = column_blocks_.begin(block) * lanes_;
    return {first, std::min(column_blocks_.begin(block + 1) * lanes_, spec_.kv_tokens) - first};
  }
  // A block of K as a right operand whose columns are tokens.
  Right keys(int64_t block) const {
    return {tools_, k_words_ + column_blocks_.begin(block) * lanes_ * dim_steps_, dim_steps_,
            column_blocks_.count(block)};
  }
  void add_block(const Left& q, const Tokens& rows, int64_t column_block);
  void finish(const ForwardOperands& operands, int64_t head, const Tokens& rows);

  const AttentionSpec& spec_;
  const AttentionTools tools_;
  const int64_t lanes_, dim_steps_, dim_vectors_;
  const Cut row_blocks_, column_blocks_;  // of q tokens; of vectors of kv tokens
  const int64_t s_ld_, o_ld_;
  uint32_t *q_words_, *k_words_, *v_words_;
  float *s_, *o_;
  SoftmaxState* states_;
  Right values_;
  Prefetcher prefetcher_;
  size_t bytes_;
};

Forward::Forward(const AttentionSpec& spec, std::byte* workspace)
    : spec_(spec),
      tools_(spec),
      lanes_(tools_.micro.lanes),
      dim_steps_(tools_.micro.steps(spec.head_dim)),
      dim_vectors_(tools_.vectors(spec.head_dim)),
      row_blocks_(spec.q_tokens, kRowBlock),
      column_blocks_(tools_.vectors(spec.kv_tokens), kColumnBlock / lanes_),
      s_ld_(std::min(tools_.vectors(spec.kv_tokens) * lanes_, kColumnBlock) + 16),
      o_ld_(dim_vectors_ * lanes_),
      values_(tools_, nullptr, tools_.micro.steps(spec.kv_tokens), dim_vectors_),
      prefetcher_(spec.head_dim * size_of(spec.dtype)) {
  Carver carver(workspace);
  q_words_ = carver.take<uint32_t>(kRowBlock * dim_steps_);
  k_words_ = carver.take<uint32_t>(tools_.vectors(spec.kv_tokens) * lanes_ * dim_steps_);
  v_words_ = carver.take<uint32_t>(values_.steps * o_ld_);
  s_ = carver.take<float>(kRowBlock * s_ld_);
  o_ = carver.take<float>(kRowBlock * o_ld_);
  states_ = carver.take<SoftmaxState>(kRowBlock);
  values_.words = v_words_;
  bytes_ = carver.used();
}

void Forward::load_head(const ForwardOperands& operands, int64_t head) {
  const HeadView k(spec_, operands.k, spec_.k, head), v(spec_, operands.v, spec_.v, head);
  for (int64_t b = 0; b < column_blocks_.parts; ++b) {
    const Tokens kv = kv_tokens(b);
    pack_right(tools_, keys(b), k.at(kv.first), k.stride, 1, kv.count, spec_.head_dim);
  }
  pack_right(tools_, values_, v.data, 1, v.stride, spec_.head_dim, spec_.kv_tokens);
  prefetcher_.clear();
  prefetcher_.add(HeadView(spec_, operands.out, spec_.out, head), spec_.q_tokens);
  if (head + 1 == spec_.batch * spec_.heads) return;
  prefetcher_.add(HeadView(spec_, operands.k, spec_.k, head + 1), spec_.kv_tokens);
  prefetcher_.add(HeadView(spec_, operands.v, spec_.v, head + 1), spec_.kv_tokens);
  prefetcher_.add(HeadView(spec_, operands.q, spec_.q, head + 1), spec_.q_tokens);
}

void Forward::run_block(const ForwardOperands& operands, int64_t head, int64_t block) {
  const Tokens rows{row_blocks_.begin(block), row_blocks_.count(block)};
  const Left q =
      left_rows(tools_, HeadView(spec_, operands.q, spec_.q, head), rows, spec_.head_dim, q_words_);
  std::fill_n(states_, rows.count, SoftmaxState{});
  for (int64_t b = 0; b < column_blocks_.parts; ++b) {
    if (spec_.causal && kv_tokens(b).first >= rows.first + rows.count) break;
    add_block(q, rows, b);
  }
  finish(operands, head, rows);
}

// Takes a block of kv tokens into the rows' states and O.
void Forward::add_block(const Left& q, const Tokens& rows, int64_t column_block) {
  Tokens kv = kv_tokens(column_block);
  Visible visible{kv.count, 0, kv.count};
  if (spec_.causal) {
    kv.count = std::min(kv.count, rows.first + rows.count - kv.first);
    visible = {rows.first + 1 - kv.first, 1, kv.count};
  }
  const Right k = keys(column_block);
  const int64_t vectors = tools_.vectors(kv.count);
  for (int64_t panel = 0; panel < k.panels.parts && k.panels.begin(panel) < vectors; ++panel) {
    multiply(tools_, q, rows.count, k, panel, 0, dim_steps_, s_ + k.panels.begin(panel) * lanes_,
             s_ld_, false);
    prefetcher_.fetch();
  }
  tools_.rows.softmax(s_, s_ld_, rows.count, vectors * lanes_, visible, spec_.scale * kLog2E,
                      states_);
  const bool accumulate = column_block > 0;
  for (int64_t r = 0; accumulate && r < rows.count; ++r) {
    for (int64_t d = 0; d < o_ld_; ++d) o_[r * o_ld_ + d] *= states_[r].rescale;
  }
  const Left p{reinterpret_cast<const std::byte*>(s_), s_ld_ * kWord, kWord};
  for (int64_t panel = 0; panel < values_.panels.parts; ++panel) {
    multiply(tools_, p, rows.count, values_, panel, kv.first / tools_.micro.depth,
             tools_.micro.steps(kv.count), o_ + values_.panels.begin(panel) * lanes_, o_ld_,
             accumulate);
    prefetcher_.fetch();
  }
}

void Forward::finish(const ForwardOperands& operands, int64_t head, const Tokens& rows) {
  const HeadView out(spec_, operands.out, spec_.out, head);
  for (int64_t r = 0; r < rows.count; ++r) {
    const int64_t token = rows.first + r;
    tools_.rows.store(o_ + r * o_ld_, 1 / states_[r].sum, out.at(token), spec_.head_dim);
    if (!operands.lse) continue;
    operands.lse[head * spec_.q_tokens + token] =
        states_[r].max * spec_.scale + std::log(states_[r].sum);
  }
}

}  // namespace

int64_t forward_blocks(const AttentionSpec& spec) {
  return spec.batch * spec.heads * Cut(spec.q_tokens, kRowBlock).parts;
}

size_t forward_workspace(const AttentionSpec& spec) {
  return Forward(spec, nullptr).workspace_bytes();
}

void forward_range(const AttentionSpec& spec, const ForwardOperands& operands, int64_t begin,
                   int64_t end, std::byte* workspace) {
  Forward forward(spec, workspace);
  const int64_t blocks = forward.row_blocks().parts;
  for (int64_t at = begin; at < end; ++at) {
    if (at == begin || at % blocks == 0) forward.load_head(operands, at / blocks);
    forward.run_block(operands, at / blocks, at % blocks);
  }
}

}  // namespace centavo::cpu
