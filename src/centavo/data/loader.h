// Loader: threads that turn a Dataset into batches ahead of the consumer, in an order fixed by seed
// and epoch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "centavo/data/dataset.h"
#include "centavo/data/mix.h"

namespace centavo::data {

// What a target of the padding in an evaluation's last batch is: no class, so it matches no
// prediction.
inline constexpr int32_t kPaddingTarget = -1;

// One batch. Its buffers go back to the loader when the last copy of the pointer is dropped.
class Batch {
 public:
  int64_t size() const { return size_; }
  // The first `valid` samples are data; the rest is padding (zero input, kPaddingTarget), in a last
  // batch alone.
  int64_t valid() const { return valid_; }
  int64_t epoch() const { return epoch_; }
  // Which batch of its epoch, from 0.
  int64_t index() const { return index_; }
  // Seconds next() waited for it.
  double wait_seconds() const { return wait_seconds_; }

  // [N, ...] of the dataset's input_type(), 64-byte aligned.
  const TensorType& input_type() const { return input_type_; }
  const void* input() const { return input_.get(); }
  // The input of images: f32 [N,C,H,W]. CHECKs the dtype.
  std::span<const float> images() const;
  // i32 [N, ...] of the dataset's target_type(); [3, N] (kMixRows) where batches are mixed.
  const TensorType& target_type() const { return target_type_; }
  std::span<const int32_t> targets() const;

 private:
  friend class Loader;
  struct FreeDeleter {
    void operator()(void* p) const;
  };

  TensorType input_type_, target_type_;
  std::unique_ptr<void, FreeDeleter> input_, target_;
  int64_t size_ = 0, valid_ = 0, epoch_ = 0, index_ = 0;
  double wait_seconds_ = 0;
};

// A quarter of the cores this process may use, within 1 to 8: the others compute.
int default_workers();

struct LoaderOptions {
  int64_t batch_size = 128;         // samples per rank
  int workers = default_workers();  // 0: next() does the work itself
  int prefetch = 4;                 // batches made ahead
  bool shuffle = true;
  bool drop_last = true;  // false: the last batch is padded to batch_size
  uint64_t seed = 42;
  int rank = 0, world = 1;  // this loader serves rank's share of every global batch
  int64_t first_epoch = 0;  // where to start, for a resumed run
  int64_t first_batch = 0;
  MixOptions mix;  // of training batches: images with one class each, drop_last
  std::optional<int64_t> epochs;  // the number of epochs from first_epoch on; left out: no end
};

// Batches follow each other over the epochs' ends without a pause. Global batch b of an epoch holds
// positions [b * batch_size * world, (b + 1) * batch_size * world) of the epoch's order, dealt to
// the ranks in turn: what a step learns from does not depend on `world` for a fixed global batch,
// nor ever on `workers`.
class Loader {
 public:
  // Throws Error if a global batch is larger than the data (and not padded), or an option is out of
  // range.
  Loader(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options);
  // Stops at once; batches still held stay valid.
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The next batch, or null after the last epoch's last. Rethrows what a worker threw when its
  // batch's turn comes, and again ever after. Not for several threads at once.
  std::shared_ptr<const Batch> next();

  int64_t batches_per_epoch() const;
  const Dataset& dataset() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace centavo::data
