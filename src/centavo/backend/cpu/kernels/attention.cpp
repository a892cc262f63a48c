// Attention by the definition, one row of probabilities at a time.
#include "centavo/backend/cpu/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "centavo/base/error.h"

namespace centavo::cpu {
namespace {

void check(const AttentionSpec& s) {
  if (s.dtype != DType::kF32 && s.dtype != DType::kBF16) {
    throw Error("attention", "computes in f32 or bf16, not {}", name_of(s.dtype));
  }
  if (s.head_dim < 1 || s.head_dim > 256) {
    throw Error("attention", "head_dim must be 1 to 256, got {}", s.head_dim);
  }
  if (s.batch < 0 || s.heads < 0 || s.q_tokens < 0 || s.kv_tokens < 1) {
    throw Error("attention", "bad extents: batch {}, heads {}, q_tokens {}, kv_tokens {}", s.batch,
                s.heads, s.q_tokens, s.kv_tokens);
  }
  if (!(s.scale > 0)) throw Error("attention", "scale must be positive, got {}", s.scale);
}

template <class T>
float round_to(float x) {
  return static_cast<float>(static_cast<T>(x));
}

float dot(const auto* a, const auto* b, int64_t n) {
  float sum = 0;
  for (int64_t d = 0; d < n; ++d) sum += static_cast<float>(a[d]) * static_cast<float>(b[d]);
  return sum;
}

template <class T>
T* head_of(T* data, const AttentionStrides& strides, int64_t b, int64_t h) {
  return data + b * strides.batch + h * strides.head;
}

template <class T>
void forward(const AttentionSpec& s, const T* q_all, const T* k_all, const T* v_all, T* out_all,
             float* lse) {
#pragma omp parallel for num_threads(s.threads) schedule(static)
  for (int64_t unit = 0; unit < s.batch * s.heads; ++unit) {
    const int64_t b = unit / s.heads, h = unit % s.heads;
    const T *q = head_of(q_all, s.q, b, h), *k = head_of(k_all, s.k, b, h);
    const T* v = head_of(v_all, s.v, b, h);
    T* out = head_of(out_all, s.out, b, h);
    std::vector<float> p(s.kv_tokens), row(s.head_dim);
    for (int64_t i = 0; i < s.q_tokens; ++i) {
      const int64_t n = s.causal ? std::min(i + 1, s.kv_tokens) : s.kv_tokens;
      for (int64_t j = 0; j < n; ++j) {
        p[j] = s.scale * dot(q + i * s.q.token, k + j * s.k.token, s.head_dim);
      }
      const float max = *std::max_element(p.begin(), p.begin() + n);
      float sum = 0;
      std::fill(row.begin(), row.end(), 0.0f);
      for (int64_t j = 0; j < n; ++j) {
        const float e = std::exp(p[j] - max);
        sum += e;
        for (int64_t d = 0; d < s.head_dim; ++d) {
          row[d] += round_to<T>(e) * static_cast<float>(v[j * s.v.token + d]);
        }
      }
      for (int64_t d = 0; d < s.head_dim; ++d) {
        out[i * s.out.token + d] = static_cast<T>(row[d] / sum);
      }
      if (lse) lse[unit * s.q_tokens + i] = max + std::log(sum);
    }
  }
}

template <class T>
void backward(const AttentionSpec& s, const T* q_all, const T* k_all, const T* v_all,
              const T* out_all, const T* d_out_all, const float* lse, T* dq_all, T* dk_all,
              T* dv_all) {
  const int64_t dim = s.head_dim;
#pragma omp parallel for num_threads(s.threads) schedule(static)
  for (int64_t unit = 0; unit < s.batch * s.heads; ++unit) {
    const int64_t b = unit / s.heads, h = unit % s.heads;
    const T *q = head_of(q_all, s.q, b, h), *k = head_of(k_all, s.k, b, h);
    const T *v = head_of(v_all, s.v, b, h), *out = head_of(out_all, s.out, b, h);
    const T* d_out = head_of(d_out_all, s.out, b, h);
    std::vector<float> dq(s.q_tokens * dim), dk(s.kv_tokens * dim), dv(s.kv_tokens * dim);
    for (int64_t i = 0; i < s.q_tokens; ++i) {
      const int64_t n = s.causal ? std::min(i + 1, s.kv_tokens) : s.kv_tokens;
      const T *q_row = q + i * s.q.token, *g = d_out + i * s.out.token;
      const float delta = dot(g, out + i * s.out.token, dim);
      for (int64_t j = 0; j < n; ++j) {
        const T* k_row = k + j * s.k.token;
        const float p = std::exp(s.scale * dot(q_row, k_row, dim) - lse[unit * s.q_tokens + i]);
        const float ds = round_to<T>(p * (dot(g, v + j * s.v.token, dim) - delta));
        for (int64_t d = 0; d < dim; ++d) {
          dv[j * dim + d] += round_to<T>(p) * static_cast<float>(g[d]);
          dk[j * dim + d] += s.scale * ds * static_cast<float>(q_row[d]);
          dq[i * dim + d] += s.scale * ds * static_cast<float>(k_row[d]);
        }
      }
    }
    auto write = [&](const std::vector<float>& from, T* to, const AttentionStrides& strides,
                     int64_t tokens) {
      to = head_of(to, strides, b, h);
      for (int64_t t = 0; t < tokens; ++t) {
        for (int64_t d = 0; d < dim; ++d)
          to[t * strides.token + d] = static_cast<T>(from[t * dim + d]);
      }
    };
    write(dq, dq_all, s.q, s.q_tokens);
    write(dk, dk_all, s.k, s.kv_tokens);
    write(dv, dv_all, s.v, s.kv_tokens);
  }
}

}  // namespace

void attention_forward(const AttentionSpec& spec, const void* q, const void* k, const void* v,
                       void* out, float* lse) {
  check(spec);
  auto run = [&]<class T>(T) {
    forward<T>(spec, static_cast<const T*>(q), static_cast<const T*>(k), static_cast<const T*>(v),
               static_cast<T*>(out), lse);
  };
  spec.dtype == DType::kBF16 ? run(bf16{}) : run(float{});
}

void attention_backward(const AttentionSpec& spec, const void* q, const void* k, const void* v,
                        const void* out, const void* d_out, const float* lse, void* dq, void* dk,
                        void* dv) {
  check(spec);
  auto run = [&]<class T>(T) {
    backward<T>(spec, static_cast<const T*>(q), static_cast<const T*>(k), static_cast<const T*>(v),
                static_cast<const T*>(out), static_cast<const T*>(d_out), lse, static_cast<T*>(dq),
                static_cast<T*>(dk), static_cast<T*>(dv));
  };
  spec.dtype == DType::kBF16 ? run(bf16{}) : run(float{});
}

}  // namespace centavo::cpu
