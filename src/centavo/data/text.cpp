// Text as bytes: windows of the file, each byte's target the byte that follows it.
#include "centavo/base/text.h"

#include <algorithm>

#include "centavo/base/philox.h"
#include "centavo/data/datasets.h"
#include "centavo/io/file.h"

namespace centavo::data {
namespace {

constexpr double kTrainShare = 0.9;

class TextDataset : public Dataset {
 public:
  TextDataset(const std::string& path, const DatasetOptions& options)
      : name_("text:" + path),
        file_(path),
        context_(options.context),
        train_(options.split == Split::kTrain) {
    const auto all = std::as_bytes(file_.bytes());
    const auto boundary = static_cast<size_t>(kTrainShare * static_cast<double>(all.size()));
    bytes_ = train_ ? all.first(boundary) : all.subspan(boundary);
    // Training's windows start anywhere within one window's length.
    const auto usable = static_cast<int64_t>(bytes_.size()) - 1 - (train_ ? context_ - 1 : 0);
    size_ = std::max<int64_t>(usable, 0) / context_;
    if (size_ == 0)
      throw Error("text", "{} has {} bytes to {}, too few for one sample of {}; lower --context",
                  path, bytes_.size(), train_ ? "train on" : "evaluate on", context_);
    if (options.num_classes.value_or(kVocabulary) < kVocabulary)
      throw Error("text", "bytes are {} tokens, not {}; leave --num-classes out", kVocabulary,
                  *options.num_classes);
    if (options.augment)
      throw Error("text", "text is not augmented; leave the augmentation's flags out");
  }

  std::string name() const override { return name_; }
  int64_t size() const override { return size_; }
  TensorType input_type() const override { return {DType::kI32, {context_}}; }
  TensorType target_type() const override { return input_type(); }
  int64_t num_classes() const override { return kVocabulary; }

  void get(const SampleKey& key, void* input, int32_t* target) const override {
    const std::byte* at = bytes_.data() + key.index * context_ + (train_ ? shift(key) : 0);
    auto* tokens = static_cast<int32_t*>(input);
    for (int64_t t = 0; t < context_; ++t) {
      tokens[t] = std::to_integer<int32_t>(at[t]);
      target[t] = std::to_integer<int32_t>(at[t + 1]);
    }
  }

 private:
  static constexpr int64_t kVocabulary = 256;

  // By how much the windows of an epoch are moved, so that every epoch cuts the text elsewhere.
  int64_t shift(const SampleKey& key) const {
    constexpr uint64_t kDomain = 0x74657874u;  // apart from other uses of the seed
    Philox rng(key.seed ^ kDomain, static_cast<uint64_t>(key.epoch));
    return static_cast<int64_t>(rng.next_below(static_cast<uint64_t>(context_)));
  }

  std::string name_;
  io::MappedFile file_;
  std::span<const std::byte> bytes_;
  int64_t context_, size_ = 0;
  bool train_;
};

}  // namespace

std::shared_ptr<const Dataset> open_text(const std::string& path, const DatasetOptions& options) {
  return std::make_shared<TextDataset>(path, options);
}

}  // namespace centavo::data
