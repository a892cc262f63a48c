// Images a second that one thread decodes and augments: the work of a loader's thread.
// Usage: image_bench DIR SECONDS [bilinear|bicubic] [COLOR_JITTER] [POLICY]; DIR as for folder:DIR.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "centavo/base/timer.h"
#include "centavo/data/dataset.h"

namespace {

using namespace centavo;

int run(const std::vector<std::string>& a) {
  data::DatasetOptions options;
  options.augment.emplace();
  const bool bicubic = a.size() > 2 && a[2] == "bicubic";
  options.augment->interpolation =
      bicubic ? data::Interpolation::kBicubic : data::Interpolation::kBilinear;
  options.augment->color_jitter = a.size() > 3 ? std::stod(a[3]) : 0;
  if (a.size() > 4) options.augment->auto_augment = a[4];
  const auto dataset = data::open_dataset("folder:" + a.at(0), options);
  std::vector<float> pixels(static_cast<size_t>(dataset->input_type().shape.elements()));
  const double seconds = std::stod(a.at(1));
  int32_t label = 0;
  int64_t images = 0;
  Timer timer;
  while (timer.seconds() < seconds) {
    dataset->get({1, images / dataset->size(), images % dataset->size()}, pixels.data(), &label);
    ++images;
  }
  std::printf("%.1f\n", static_cast<double>(images) / timer.seconds());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "image_bench: %s\n", error.what());
    return 1;
  }
}
