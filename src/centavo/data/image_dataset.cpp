// Which picture serves a sample, and what is remembered of the broken ones.
#include "centavo/data/image_dataset.h"

#include <atomic>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "centavo/base/error.h"
#include "centavo/base/log.h"
#include "centavo/data/transform.h"

namespace centavo::data {
namespace {

// The pictures found broken so far. For many threads at once.
class BrokenPictures {
 public:
  int64_t count() const { return count_.load(std::memory_order_relaxed); }
  bool contains(int64_t index) const {
    if (count() == 0) return false;
    std::lock_guard lock(mutex_);
    return indices_.contains(index);
  }
  // Says why, the first time.
  void add(int64_t index, const Error& why) {
    std::lock_guard lock(mutex_);
    if (!indices_.insert(index).second) return;
    count_.store(static_cast<int64_t>(indices_.size()), std::memory_order_relaxed);
    log_warning("{} (until then the next one stands in; --on-error fail stops here)", why.what());
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_set<int64_t> indices_;
  std::atomic<int64_t> count_ = 0;
};

class ImageDataset : public Dataset {
 public:
  ImageDataset(std::shared_ptr<const ImageSource> source, const Shape& shape,
               const DatasetOptions& options)
      : source_(std::move(source)),
        input_type_{DType::kF32, shape},
        transform_(shape, options),
        on_error_(options.on_error) {
    if (source_->size() == 0) throw Error("dataset", "{} has no images", source_->name());
  }

  std::string name() const override { return source_->name(); }
  int64_t size() const override { return source_->size(); }
  TensorType input_type() const override { return input_type_; }
  int64_t num_classes() const override { return source_->num_classes(); }
  std::vector<std::string> class_names() const override { return source_->class_names(); }
  int64_t broken_samples() const override { return broken_.count(); }

  // Whichever picture serves, the randomness is the key's: a picture that stands in for another is
  // augmented otherwise than when it comes in its own name.
  void get(const SampleKey& key, void* input, int32_t* target) const override {
    for (int64_t step = 0; step < size(); ++step) {
      const int64_t index = (key.index + step) % size();
      if (broken_.contains(index)) continue;
      try {
        transform_(*source_->open(index), key, static_cast<float*>(input));
        *target = source_->label(index);
        return;
      } catch (const Error& error) {
        if (on_error_ == OnError::kFail) throw;
        broken_.add(index, error);
      }
    }
    throw Error("dataset", "none of the {} images of {} can be read", size(), name());
  }

 private:
  std::shared_ptr<const ImageSource> source_;
  TensorType input_type_;
  Transform transform_;
  OnError on_error_;
  mutable BrokenPictures broken_;
};

}  // namespace

std::shared_ptr<const Dataset> make_image_dataset(std::shared_ptr<const ImageSource> source,
                                                  const Shape& shape,
                                                  const DatasetOptions& options) {
  return std::make_shared<ImageDataset>(std::move(source), shape, options);
}

}  // namespace centavo::data
