// Definitions of the data's flags.
#include "centavo/cli/data_flags.h"

#include <utility>

#include "centavo/base/error.h"
#include "centavo/cli/options.h"

namespace centavo::cli {
namespace {

using data::Augmentation;
using data::Interpolation;

constexpr std::array<std::pair<const char*, Interpolation>, 3> kInterpolations = {
    {{"bilinear", Interpolation::kBilinear},
     {"bicubic", Interpolation::kBicubic},
     {"random", Interpolation::kRandom}}};

// A name that known_name() has checked.
Interpolation interpolation_of(const std::string& name) {
  for (const auto& [known, value] : kInterpolations) {
    if (name == known) return value;
  }
  CENTAVO_UNREACHABLE();
}

}  // namespace

DataFlags::DataFlags(CLI::App& app, const std::string& default_spec) : spec(default_spec) {
  CLI::Option* dataset = add_value(app, "Data", "-d,--dataset", spec, "SPEC",
                                   "fake, idx:DIR (MNIST family, .gz too), folder:DIR (images), "
                                   "shards:DIR or shards:PATTERN (WebDataset), or text:FILE");
  if (default_spec.empty()) dataset->required();
  add_value(app, "Data", "--val-dataset", evaluation_spec, "SPEC",
            "Evaluate on this rather than on the data's own evaluation split");
  add_value(app, "Data", "--context", options_.context, "N", "text: tokens of a sample")
      ->check(positive());
  add_preparation(app);
  add_augmentation(app);
  add_mixing(app);
}

void DataFlags::add_preparation(CLI::App& app) {
  const std::string group = "Data";
  app.add_option("--mean", options_.mean,
                 "Mean of each channel, of pixels in 0..1 (default: ImageNet's)")
      ->type_name("X...")
      ->group(group);
  app.add_option("--std", options_.stddev,
                 "Standard deviation of each channel (default: ImageNet's)")
      ->type_name("X...")
      ->group(group);
  app.add_option(
         "--crop-pct", options_.crop_pct,
         "Evaluation: share of the resized image's shorter side that is kept (default 0.875)")
      ->type_name("P")
      ->group(group);
  app.add_option_function<std::string>(
         "--interpolation",
         [this](const std::string& name) { options_.interpolation = interpolation_of(name); },
         "Evaluation: bilinear or bicubic")
      ->check(known_name("interpolation", {"bilinear", "bicubic"}))
      ->type_name("NAME")
      ->default_str("bicubic")
      ->group(group);
  app.add_option_function<std::string>(
         "--on-error",
         [this](const std::string& name) {
           options_.on_error = name == "fail" ? data::OnError::kFail : data::OnError::kSkip;
         },
         "A broken image: skip (the next one stands in for it) or fail")
      ->check(known_name("way to treat errors", {"skip", "fail"}))
      ->type_name("NAME")
      ->default_str("skip")
      ->group(group);
}

void DataFlags::add_augmentation(CLI::App& app) {
  const std::string group = "Augmentation";
  auto add = [&]<class T>(const char* flag, T Augmentation::*member, const char* type,
                          const std::string& help) {
    return app
        .add_option_function<T>(
            flag,
            [this, member](const T& value) {
              changes_.push_back([=](Augmentation& a) { a.*member = value; });
            },
            help)
        ->type_name(type)
        ->group(group);
  };
  app.add_flag("--no-aug", no_augmentation_, "Prepare training images as for evaluation")
      ->group(group);
  add("--scale", &Augmentation::scale, "MIN MAX", "Area of the random crop (default 0.08 1)");
  add("--ratio", &Augmentation::ratio, "MIN MAX", "Its width over height (default 0.75 1.33)");
  add("--hflip", &Augmentation::hflip, "P", "Probability of a horizontal flip (default 0.5)");
  add("--vflip", &Augmentation::vflip, "P", "Probability of a vertical flip (default 0)");
  add("--color-jitter", &Augmentation::color_jitter, "X",
      "Strength of the colour jitter; none with --aa (default 0.4)");
  add("--aa", &Augmentation::auto_augment, "POLICY", "RandAugment, e.g. rand-m9-mstd0.5-inc1");
  add("--reprob", &Augmentation::reprob, "P", "Probability of random erasing (default 0)");
  add("--remode", &Augmentation::remode, "NAME",
      "What erases: const, rand or pixel (default pixel)");
  add("--recount", &Augmentation::recount, "N", "Most rectangles erased (default 1)");
  app.add_option_function<std::string>(
         "--train-interpolation",
         [this](const std::string& name) {
           changes_.push_back(
               [value = interpolation_of(name)](Augmentation& a) { a.interpolation = value; });
         },
         "bilinear, bicubic or random (default random)")
      ->check(known_name("interpolation", {"bilinear", "bicubic", "random"}))
      ->type_name("NAME")
      ->group(group);
}

void DataFlags::add_mixing(CLI::App& app) {
  const char* group = "Augmentation";
  add_value(app, group, "--mixup", mix.mixup, "ALPHA", "Mixup of each batch; 0: none");
  add_value(app, group, "--cutmix", mix.cutmix, "ALPHA", "CutMix of each batch; 0: none");
  add_value(app, group, "--mixup-prob", mix.prob, "P", "Probability of mixing a batch");
  add_value(app, group, "--mixup-switch-prob", mix.switch_prob, "P",
            "Probability of CutMix where both are on");
}

std::optional<data::Augmentation> DataFlags::augmentation() const {
  if (no_augmentation_) {
    if (!changes_.empty())
      throw Error("--no-aug", "contradicts the other flags of augmentation; leave it or them out");
    return std::nullopt;
  }
  std::optional<Augmentation> result = data::default_augmentation(spec);
  if (!result && !changes_.empty()) result = Augmentation::none();
  for (const auto& change : changes_) change(*result);
  return result;
}

std::shared_ptr<const data::Dataset> DataFlags::open(const ModelOptions& model,
                                                     data::Split split) const {
  data::DatasetOptions o = options_;
  o.split = split;
  o.channels = model.in_chans;
  o.height = o.width = model.img_size;
  o.num_classes = model.num_classes;
  if (split == data::Split::kTrain) {
    o.augment = augmentation();
    return data::open_dataset(spec, o);
  }
  if (evaluation_spec.empty() && !data::has_evaluation_split(spec))
    throw Error("--dataset", "'{}' is one split; name the other with --val-dataset", spec);
  return data::open_dataset(evaluation_spec.empty() ? spec : evaluation_spec, o);
}

}  // namespace centavo::cli
