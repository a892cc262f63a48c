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
  Right keys(int64_t block) const {
    return {tools_, k_words_ + column_blocks_.begin(block) * tools_.micro.lanes * dim_steps_,
            dim_steps_, column_blocks_.count(block)};
  }

  const AttentionSpec& spec_;
  const AttentionTools tools_;
  const int64_t dim_steps_, dim_vectors_;
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
      dim_steps_(tools_.micro.steps(spec.head_dim)),
      dim_vectors_(tools_.vectors(spec.head_dim)),
      row_blocks_(spec.q_tokens, kRowBlock),
      column_blocks_(tools_.vectors(spec.kv_tokens), kColumnBlock / tools_.micro.lanes),
      s_ld_(std::min(tools_.vectors(spec.kv_tokens) * tools_.micro.lanes, kColumnBlock) + 16),
      o_ld_(dim_vectors_ * tools_.micro.lanes),
      values_(tools_, nullptr, tools_.micro.steps(spec.kv_tokens), dim_vectors_),
      prefetcher_(spec.head_dim * size_of(spec.dtype)) {
  Carver carver(workspace);
  q_words_ = carver.take<uint32_t>(kRowBlock * dim_steps_);
  k_words_ =
      carver.take<uint32_t>(tools_.vectors(spec.kv_tokens) * tools_.micro.lanes * dim_steps_);
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
    const int64_t first = column_blocks_.begin(b) * tools_.micro.lanes;
    pack_right(tools_, keys(b), k.at(first), k.stride, 1, spec_.kv_tokens - first, spec_.head_dim);
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
  const int64_t row = row_blocks_.begin(block), rows = row_blocks_.count(block);
  const Left left = left_rows(tools_, HeadView(spec_, operands.q, spec_.q, head), row, rows,
                              spec_.head_dim, q_words_);
  const Left p{reinterpret_cast<const std::byte*>(s_), s_ld_ * int64_t{sizeof(float)},
               int64_t{sizeof(float)}};
  std::fill_n(states_, rows, SoftmaxState{});
  for (int64_t b = 0; b < column_blocks_.parts; ++b) {
    const int64_t first = column_blocks_.begin(b) * tools_.micro.lanes;
    const int64_t seen = spec_.causal ? std::min(row + rows, spec_.kv_tokens) : spec_.kv_tokens;
    if (first >= seen) break;
    const Right k = keys(b);
    const int64_t tokens = std::min(seen - first, column_blocks_.count(b) * tools_.micro.lanes);
    const int64_t vectors = tools_.vectors(tokens);
    int64_t made = 0;  // vectors of S
    for (int64_t panel = 0; made < vectors; made += k.panels.count(panel++)) {
      multiply(tools_, left, rows, k, panel, 0, dim_steps_, s_ + made * tools_.micro.lanes, s_ld_,
               false);
      prefetcher_.fetch();
    }
    const Visible visible =
        spec_.causal ? Visible{row + 1 - first, 1, tokens} : Visible{tokens, 0, tokens};
    tools_.rows.softmax(s_, s_ld_, rows, vectors * tools_.micro.lanes, visible,
                        spec_.scale * kLog2E, states_);
    for (int64_t r = 0; b > 0 && r < rows; ++r) {
      for (int64_t d = 0; d < o_ld_; ++d) o_[r * o_ld_ + d] *= states_[r].rescale;
    }
    for (int64_t panel = 0; panel < values_.panels.parts; ++panel) {
      multiply(tools_, p, rows, values_, panel, first / tools_.micro.depth,
               tools_.micro.steps(tokens), o_ + values_.panels.begin(panel) * tools_.micro.lanes,
               o_ld_, b > 0);
      prefetcher_.fetch();
    }
  }
  const HeadView out(spec_, operands.out, spec_.out, head);
  for (int64_t r = 0; r < rows; ++r) {
    tools_.rows.store(o_ + r * o_ld_, 1 / states_[r].sum, out.at(row + r), spec_.head_dim);
    if (operands.lse) {
      operands.lse[head * spec_.q_tokens + row + r] =
          states_[r].max * spec_.scale + std::log(states_[r].sum);
    }
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
