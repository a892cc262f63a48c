// Random images with labels: what remains of a training step's cost when reading and decoding are
// free.
#include "centavo/data/datasets.h"
#include "centavo/data/normal.h"

namespace centavo::data {
namespace {

class FakeDataset : public Dataset {
 public:
  explicit FakeDataset(const DatasetOptions& options)
      : split_(options.split),
        size_(options.length.value_or(split_ == Split::kTrain ? 1'000'000 : 10'000)),
        num_classes_(options.num_classes.value_or(1000)),
        input_type_{DType::kF32, Shape{options.channels.value_or(3), options.height.value_or(224),
                                       options.width.value_or(224)}},
        pixels_(static_cast<size_t>(input_type_.shape.elements())) {}

  std::string name() const override { return "fake"; }
  int64_t size() const override { return size_; }
  TensorType input_type() const override { return input_type_; }
  int64_t num_classes() const override { return num_classes_; }

  void get(const SampleKey& key, void* input, int32_t* target) const override {
    // Sets the images apart from other uses of the seed, and the splits from each other.
    const uint64_t domain = split_ == Split::kTrain ? 0x66616b65'7472616eu : 0x66616b65'6576616cu;
    fill_normal(std::span(static_cast<float*>(input), pixels_), key.seed ^ domain,
                static_cast<uint64_t>(key.index));
    *target = static_cast<int32_t>(key.index % num_classes_);
  }

 private:
  Split split_;
  int64_t size_, num_classes_;
  TensorType input_type_;
  size_t pixels_;
};

}  // namespace

std::shared_ptr<const Dataset> open_fake(const DatasetOptions& options) {
  if (options.augment)
    throw Error("dataset", "fake images are noise already; leave the augmentation's flags out");
  return std::make_shared<FakeDataset>(options);
}

}  // namespace centavo::data
