// Dataset: samples by index, and open_dataset() that makes one from a spec such as "idx:DIR". No
// batching here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "centavo/base/shape.h"

namespace centavo::data {

// Which draw of which sample. Whatever is random about a sample (augmentation, fake pixels) is a
// function of these.
struct SampleKey {
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t index = 0;  // in [0, Dataset::size())
};

// A finite set of samples. Immutable once made, so every member may be called from many threads at
// once.
class Dataset {
 public:
  virtual ~Dataset() = default;

  // As messages show it: "idx:/data/mnist".
  virtual std::string name() const = 0;
  virtual int64_t size() const = 0;
  // What one sample is, without the batch's dimension: images are f32 [C,H,W].
  virtual TensorType input_type() const = 0;
  // What is to be predicted: i32, and [] for one class a sample.
  virtual TensorType target_type() const { return {DType::kI32, {}}; }
  virtual int64_t num_classes() const = 0;
  // Names of the classes in label order; empty where the data has none.
  virtual std::vector<std::string> class_names() const { return {}; }
  // How many samples have been found broken so far; others stand in for them.
  virtual int64_t broken_samples() const { return 0; }

  // Writes one sample: input_type().bytes() to `input`, target_type().bytes() to `target`.
  // Deterministic in the key. Throws Error naming the sample if it cannot be read.
  virtual void get(const SampleKey& key, void* input, int32_t* target) const = 0;
};

enum class Split { kTrain, kEval };

enum class Interpolation { kBilinear, kBicubic, kRandom };

// What becomes of a sample that cannot be read: the next readable one stands in for it, or the
// error is thrown.
enum class OnError { kSkip, kFail };

// How training images are varied; timm's names and defaults.
struct Augmentation {
  std::pair<double, double> scale{0.08, 1.0};  // of the random-resized crop: share of the area
  std::pair<double, double> ratio{3.0 / 4, 4.0 / 3};  // and width over height
  Interpolation interpolation = Interpolation::kRandom;
  double hflip = 0.5, vflip = 0;  // probabilities
  double color_jitter =
      0.4;  // brightness, contrast and saturation within 1 -+ this; not with auto_augment
  std::string auto_augment;      // --aa, e.g. "rand-m9-mstd0.5-inc1"; empty: none
  double reprob = 0;             // probability of random erasing
  std::string remode = "pixel";  // const, rand or pixel
  int64_t recount = 1;           // most rectangles erased

  // The whole image as it is: what single augmentations are switched on from.
  static Augmentation none();
};

struct DatasetOptions {
  Split split = Split::kTrain;
  // The wanted image; each left out means the data's own (fake: 3x224x224).
  std::optional<int64_t> channels, height, width;
  // Left out: the data's own (fake: 1000; idx: 10; folder: its class folders).
  std::optional<int64_t> num_classes;
  // Samples `fake` has; left out: 1,000,000 to train on, 10,000 to evaluate on.
  std::optional<int64_t> length;
  int64_t context = 256;  // text: tokens of a sample
  // Augmentation of training images; left out: none.
  std::optional<Augmentation> augment;
  // Images not augmented are resized until the shorter side is the wanted one over crop_pct and cut
  // to their middle. Left out: 0.875, except that an image of the wanted size is not touched.
  std::optional<double> crop_pct;
  Interpolation interpolation = Interpolation::kBicubic;  // of that resizing
  // Pixels in [0, 1] become (x - mean) / stddev, channel by channel; one value stands for all
  // channels. Left out: 0.5 and 0.5 for one channel, ImageNet's for three.
  std::vector<float> mean, stddev;
  OnError on_error = OnError::kSkip;
};

// What training images of this kind of data get unless told otherwise: timm's defaults for
// photographs (folder, shards), nothing for the rest.
std::optional<Augmentation> default_augmentation(std::string_view spec);

// False for a pattern of shards, which are all of one split.
bool has_evaluation_split(std::string_view spec);

// Opens what `spec` names:
//   fake      images of N(0, 1), label = index % num_classes
//   idx:DIR   the MNIST family's files, .gz or plain: train-* for kTrain, t10k-* for kEval
//   folder:DIR  images in DIR/train/CLASS/ and DIR/val/CLASS/, 3x224x224 unless told otherwise
//   shards:DIR  WebDataset archives DIR/train-*.tar and DIR/val-*.tar; or a brace pattern for those
//             of one split, "shards:DIR/pets-{000000..000009}.tar"
//   text:FILE bytes: i32 [context], and as targets each one's successor; the last tenth is kEval's
// Throws Error for an unknown kind (offering the nearest), for missing or damaged files and for
// options the data cannot satisfy.
std::shared_ptr<const Dataset> open_dataset(std::string_view spec,
                                            const DatasetOptions& options = {});

}  // namespace centavo::data
