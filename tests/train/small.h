// A model, a batch and a data set small enough to train in a test.
#pragma once

#include <memory>
#include <vector>

#include "centavo/base/philox.h"
#include "centavo/data/dataset.h"
#include "centavo/models/model.h"
#include "centavo/runtime/runtime.h"

namespace centavo {

inline constexpr int64_t kSmallClasses = 7;

// A ViT of one block on images of 1x8x8.
inline std::unique_ptr<Model> small_vit(double dropout = 0) {
  ModelOptions o;
  o.img_size = 8, o.patch_size = 4, o.in_chans = 1, o.num_classes = kSmallClasses;
  o.embed_dim = 12, o.depth = 1, o.num_heads = 3, o.drop_rate = dropout;
  return make_model("vit_tiny_patch16_224", o);
}

struct SmallBatch {
  std::vector<int32_t> targets;
  Tensor images, labels;
};

// N(0, 1) images with labels in [0, kSmallClasses).
inline SmallBatch small_batch(int64_t n, uint64_t seed) {
  Philox rng(seed, 0);
  std::vector<float> pixels(static_cast<size_t>(n * 64));
  for (float& x : pixels) x = static_cast<float>(rng.next_normal());
  SmallBatch batch;
  for (int64_t i = 0; i < n; ++i)
    batch.targets.push_back(static_cast<int32_t>(rng.next_uniform() * kSmallClasses));
  batch.images = from_vector({n, 1, 8, 8}, pixels);
  batch.labels = from_vector({n}, batch.targets);
  return batch;
}

// 1x8x8 images of noise with bright stripes, whose place tells the class.
class Stripes : public data::Dataset {
 public:
  explicit Stripes(int64_t size) : size_(size) {}
  std::string name() const override { return "stripes"; }
  int64_t size() const override { return size_; }
  TensorType input_type() const override { return {DType::kF32, {1, 8, 8}}; }
  int64_t num_classes() const override { return kSmallClasses; }
  void get(const data::SampleKey& key, void* input, int32_t* target) const override {
    Philox rng(key.seed, static_cast<uint64_t>(key.index));
    *target = static_cast<int32_t>(key.index % kSmallClasses);
    for (int i = 0; i < 64; ++i) {
      const double bright = i % kSmallClasses == *target ? 2 : 0;
      static_cast<float*>(input)[i] = static_cast<float>(bright + 0.3 * rng.next_normal());
    }
  }

 private:
  int64_t size_;
};

}  // namespace centavo
