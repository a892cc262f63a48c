// The backward pass of attention: S is made again block by block, and P from it and the rows' lse;
// with delta = rowsum(dO * O), dS = P (dP - delta) (Dao et al., "FlashAttention", 2022, appendix
// B.4).
#include "centavo/backend/cpu/kernels/attention_blocks.h"
#include "centavo/backend/cpu/kernels/attention_heads.h"

namespace centavo::cpu {
namespace {

// Tokens of Q, and of K and V, whose P and dS are made at once and stay in L2. Causal attention
// takes smaller blocks, for it skips those that no query sees.
int64_t block_tokens(const AttentionSpec& spec) {
  return spec.causal ? 128 : 256;
}

class Backward {
 public:
  Backward(const AttentionSpec& spec, std::byte* workspace);
  void run(const BackwardOperands& operands, int64_t head);
  size_t workspace_bytes() const { return bytes_; }

 private:
  Tokens q_tokens(int64_t block) const {  // whole pairs, but for the last
    const int64_t first = q_blocks_.begin(block) * 2;
    return {first, std::min(q_blocks_.begin(block + 1) * 2, spec_.q_tokens) - first};
  }
  Tokens kv_tokens(int64_t block) const {  // whole vectors, but for the last
    const int64_t first = kv_blocks_.begin(block) * lanes_;
    return {first, std::min(kv_blocks_.begin(block + 1) * lanes_, spec_.kv_tokens) - first};
  }
  // A block's K or V as a right operand whose columns are tokens.
  Right columns(uint32_t* words, int64_t kv_block) const {
    return {tools_, words + kv_blocks_.begin(kv_block) * lanes_ * dim_steps_, dim_steps_,
            kv_blocks_.count(kv_block)};
  }
  void load_head(const BackwardOperands& operands, int64_t head);
  void make_words(const Tokens& q, int64_t kv_block);
  // c[rows, head_dim] (+)= a b over `tokens` of b.
  void product(const Left& a, int64_t rows, const Right& b, const Tokens& tokens, float* c,
               bool accumulate) const;
  void store(const float* from, float factor, const HeadView<std::byte>& to, const Tokens& tokens);

  const AttentionSpec& spec_;
  const AttentionTools tools_;
  const int64_t block_, lanes_, dim_steps_, dim_vectors_, dim_ld_;
  const Cut q_blocks_, kv_blocks_;  // of pairs of q tokens; of vectors of kv tokens
  const int64_t words_ld_, rows_ld_;
  uint32_t *q_left_words_, *g_left_words_, *k_words_, *v_words_;
  Left q_left_{}, g_left_{};           // Q and dO, rows of which are tokens
  Right q_right_, g_right_, k_right_;  // Q, dO and K, K of which is tokens
  Prefetcher prefetcher_;
  float *log2_sum_, *delta_;
  uint32_t *p_, *d_s_, *d_s_rows_;
  float *s_tile_, *d_p_tile_, *dq_, *dk_, *dv_;
  size_t bytes_;
};

Backward::Backward(const AttentionSpec& spec, std::byte* workspace)
    : spec_(spec),
      tools_(spec),
      block_(block_tokens(spec)),
      lanes_(tools_.micro.lanes),
      dim_steps_(tools_.micro.steps(spec.head_dim)),
      dim_vectors_(tools_.vectors(spec.head_dim)),
      dim_ld_(dim_vectors_ * lanes_),
      q_blocks_((spec.q_tokens + 1) / 2, block_ / 2),
      kv_blocks_(tools_.vectors(spec.kv_tokens), block_ / lanes_),
      words_ld_(std::min(tools_.vectors(spec.kv_tokens) * lanes_, block_) + 16),
      rows_ld_(tools_.micro.depth == 1 ? words_ld_ : words_ld_ / tools_.micro.depth),
      q_right_(tools_, nullptr, tools_.micro.steps(spec.q_tokens), dim_vectors_),
      g_right_(q_right_),
      k_right_(tools_, nullptr, tools_.micro.steps(spec.kv_tokens), dim_vectors_),
      prefetcher_(spec.head_dim * size_of(spec.dtype)) {
  Carver carver(workspace);
  const int64_t kv_columns = tools_.vectors(spec.kv_tokens) * lanes_;
  q_left_words_ = carver.take<uint32_t>(spec.q_tokens * dim_steps_);
  g_left_words_ = carver.take<uint32_t>(spec.q_tokens * dim_steps_);
  k_words_ = carver.take<uint32_t>(kv_columns * dim_steps_);
  v_words_ = carver.take<uint32_t>(kv_columns * dim_steps_);
  for (Right* right : {&q_right_, &g_right_, &k_right_}) {
    right->words = carver.take<uint32_t>(right->steps * dim_ld_);
  }
  log2_sum_ = carver.take<float>(spec.q_tokens);
  delta_ = carver.take<float>(spec.q_tokens);
  p_ = carver.take<uint32_t>(block_ * words_ld_);
  d_s_ = carver.take<uint32_t>(block_ * words_ld_);
  d_s_rows_ = tools_.micro.depth == 1 ? d_s_ : carver.take<uint32_t>(block_ * rows_ld_);
  s_tile_ = carver.take<float>(kMaxMicroRows * kMaxMicroVectors * lanes_);
  d_p_tile_ = carver.take<float>(kMaxMicroRows * kMaxMicroVectors * lanes_);
  dq_ = carver.take<float>(spec.q_tokens * dim_ld_);
  dk_ = carver.take<float>(block_ * dim_ld_);
  dv_ = carver.take<float>(block_ * dim_ld_);
  bytes_ = carver.used();
}

void Backward::load_head(const BackwardOperands& o, int64_t head) {
  const HeadView q(spec_, o.q, spec_.q, head), k(spec_, o.k, spec_.k, head);
  const HeadView v(spec_, o.v, spec_.v, head), g(spec_, o.d_out, spec_.out, head);
  const HeadView out(spec_, o.out, spec_.out, head);
  const int64_t dim = spec_.head_dim;
  q_left_ = left_rows(tools_, q, {0, spec_.q_tokens}, dim, q_left_words_);
  g_left_ = left_rows(tools_, g, {0, spec_.q_tokens}, dim, g_left_words_);
  pack_right(tools_, q_right_, q.data, 1, q.stride, dim, spec_.q_tokens);
  pack_right(tools_, g_right_, g.data, 1, g.stride, dim, spec_.q_tokens);
  pack_right(tools_, k_right_, k.data, 1, k.stride, dim, spec_.kv_tokens);
  for (int64_t b = 0; b < kv_blocks_.parts; ++b) {
    const Tokens kv = kv_tokens(b);
    pack_right(tools_, columns(k_words_, b), k.at(kv.first), k.stride, 1, kv.count, dim);
    pack_right(tools_, columns(v_words_, b), v.at(kv.first), v.stride, 1, kv.count, dim);
  }
  for (int64_t i = 0; i < spec_.q_tokens; ++i) {
    log2_sum_[i] = o.lse[head * spec_.q_tokens + i] * kLog2E;
    delta_[i] = tools_.rows.dot(g.at(i), out.at(i), dim);
  }
  prefetcher_.clear();
  prefetcher_.add(HeadView(spec_, o.dv, spec_.v, head), spec_.kv_tokens);
  prefetcher_.add(HeadView(spec_, o.dk, spec_.k, head), spec_.kv_tokens);
  prefetcher_.add(HeadView(spec_, o.dq, spec_.q, head), spec_.q_tokens);
  if (head + 1 == spec_.batch * spec_.heads) return;
  prefetcher_.add(HeadView(spec_, o.q, spec_.q, head + 1), spec_.q_tokens);
  prefetcher_.add(HeadView(spec_, o.d_out, spec_.out, head + 1), spec_.q_tokens);
  prefetcher_.add(HeadView(spec_, o.k, spec_.k, head + 1), spec_.kv_tokens);
  prefetcher_.add(HeadView(spec_, o.v, spec_.v, head + 1), spec_.kv_tokens);
  prefetcher_.add(HeadView(spec_, o.out, spec_.out, head + 1), spec_.q_tokens);
}

// P and dS of a block, one tile of the micro-kernels at a time.
void Backward::make_words(const Tokens& q, int64_t kv_block) {
  const Tokens kv = kv_tokens(kv_block);
  const Right k = columns(k_words_, kv_block), v = columns(v_words_, kv_block);
  for (int64_t panel = 0; panel < k.panels.parts; ++panel) {
    const int64_t column = k.panels.begin(panel) * lanes_, vectors = k.panels.count(panel);
    const int64_t ld = vectors * lanes_;
    const Cut tiles((q.count + 1) / 2, tools_.most_rows[vectors] / 2);
    for (int64_t t = 0; t < tiles.parts; ++t) {
      const int64_t row = tiles.begin(t) * 2, rows = std::min(tiles.count(t) * 2, q.count - row);
      const int64_t i = q.first + row;
      multiply(tools_, q_left_.from_row(i), rows, k, panel, 0, dim_steps_, s_tile_, ld, false);
      multiply(tools_, g_left_.from_row(i), rows, v, panel, 0, dim_steps_, d_p_tile_, ld, false);
      const int64_t first_seen = spec_.causal ? i + 1 - kv.first - column : ld;
      tools_.rows.gradient({.s = s_tile_,
                            .d_p = d_p_tile_,
                            .ld = ld,
                            .rows = rows,
                            .columns = ld,
                            .log2_scale = spec_.scale * kLog2E,
                            .log2_sum = log2_sum_ + i,
                            .delta = delta_ + i,
                            .visible = {first_seen, spec_.causal, kv.count - column},
                            .p = p_ + row / tools_.micro.depth * words_ld_ + column,
                            .d_s = d_s_ + row / tools_.micro.depth * words_ld_ + column,
                            .words_ld = words_ld_,
                            .d_s_rows = d_s_rows_ + row * rows_ld_ + column / tools_.micro.depth,
                            .rows_ld = rows_ld_});
      prefetcher_.fetch();
    }
  }
}

void Backward::product(const Left& a, int64_t rows, const Right& b, const Tokens& tokens, float* c,
                       bool accumulate) const {
  for (int64_t panel = 0; panel < b.panels.parts; ++panel) {
    multiply(tools_, a, rows, b, panel, tokens.first / tools_.micro.depth,
             tools_.micro.steps(tokens.count), c + b.panels.begin(panel) * lanes_, dim_ld_,
             accumulate);
  }
}

void Backward::store(const float* from, float factor, const HeadView<std::byte>& to,
                     const Tokens& tokens) {
  for (int64_t t = 0; t < tokens.count; ++t) {
    tools_.rows.store(from + t * dim_ld_, factor, to.at(tokens.first + t), spec_.head_dim);
  }
}

void Backward::run(const BackwardOperands& o, int64_t head) {
  load_head(o, head);
  const auto bytes = [](uint32_t* words) { return reinterpret_cast<const std::byte*>(words); };
  const Left p{bytes(p_), kWord, words_ld_ * kWord}, d_s{bytes(d_s_), kWord, words_ld_ * kWord};
  const Left d_s_rows{bytes(d_s_rows_), rows_ld_ * kWord, kWord};
  for (int64_t j = 0; j < kv_blocks_.parts; ++j) {
    const Tokens kv = kv_tokens(j);
    bool accumulate = false;
    for (int64_t i = 0; i < q_blocks_.parts; ++i) {
      const Tokens q = q_tokens(i);
      if (spec_.causal && q.first + q.count <= kv.first) continue;
      make_words(q, j);
      product(p, kv.count, g_right_, q, dv_, accumulate);
      product(d_s, kv.count, q_right_, q, dk_, accumulate);
      product(d_s_rows, q.count, k_right_, kv, dq_ + q.first * dim_ld_, j > 0);
      accumulate = true;
    }
    if (!accumulate) {  // no query sees these tokens
      std::fill_n(dv_, kv.count * dim_ld_, 0.0f);
      std::fill_n(dk_, kv.count * dim_ld_, 0.0f);
    }
    store(dv_, 1, HeadView(spec_, o.dv, spec_.v, head), kv);
    store(dk_, spec_.scale, HeadView(spec_, o.dk, spec_.k, head), kv);
  }
  store(dq_, spec_.scale, HeadView(spec_, o.dq, spec_.q, head), {0, spec_.q_tokens});
}

}  // namespace

size_t backward_workspace(const AttentionSpec& spec) {
  return Backward(spec, nullptr).workspace_bytes();
}

void backward_range(const AttentionSpec& spec, const BackwardOperands& operands, int64_t begin,
                    int64_t end, std::byte* workspace) {
  Backward backward(spec, workspace);
  for (int64_t head = begin; head < end; ++head) backward.run(operands, head);
}

}  // namespace centavo::cpu
