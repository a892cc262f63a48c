// Does one operation on one image, for pil_test.py to compare with PIL. Images pass as "H W C\n"
// and their bytes.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "centavo/base/error.h"
#include "centavo/data/affine.h"
#include "centavo/data/color.h"
#include "centavo/data/image.h"
#include "centavo/data/resize.h"
#include "centavo/data/transform.h"
#include "centavo/io/file.h"

namespace centavo::data {
namespace {

Image read_image() {
  int64_t height = 0, width = 0, channels = 0;
  std::cin >> height >> width >> channels;
  std::cin.get();
  Image image(height, width, channels);
  std::cin.read(reinterpret_cast<char*>(image.pixels.data()),
                static_cast<std::streamsize>(image.pixels.size()));
  return image;
}

void write_image(const Image& image) {
  fmt::print("{} {} {}\n", image.height, image.width, image.channels);
  std::fwrite(image.pixels.data(), 1, image.pixels.size(), stdout);
}

Filter filter_of(const std::string& name) {
  return name == "bicubic" ? Filter::kBicubic : Filter::kBilinear;
}

// The evaluation's resizing and cropping of a file, as bytes again.
Image evaluated(const std::string& path, int64_t height, int64_t width, const std::string& filter,
                double crop_pct) {
  DatasetOptions options;
  options.split = Split::kEval;
  options.mean = {0};
  options.stddev = {1};
  options.crop_pct = crop_pct;
  options.interpolation = filter == "bicubic" ? Interpolation::kBicubic : Interpolation::kBilinear;
  const io::MappedFile file(path);
  std::vector<float> values(static_cast<size_t>(3 * height * width));
  Transform({3, height, width}, options)(*open_picture(file.bytes(), path), {}, values.data());
  Image image(height, width, 3);
  for (int64_t i = 0; i < height * width; ++i) {
    for (int64_t c = 0; c < 3; ++c)
      image.pixels[static_cast<size_t>(3 * i + c)] =
          static_cast<uint8_t>(values[static_cast<size_t>(c * height * width + i)] * 255 + 0.5f);
  }
  return image;
}

const std::map<std::string, void (*)(Image&, double)> kColorOperations = {
    {"brightness", adjust_brightness},
    {"contrast", adjust_contrast},
    {"color", adjust_color},
    {"sharpness", adjust_sharpness},
    {"auto_contrast", [](Image& image, double) { auto_contrast(image); }},
    {"equalize", [](Image& image, double) { equalize(image); }},
    {"invert", [](Image& image, double) { invert(image); }},
    {"posterize", [](Image& image, double bits) { posterize(image, static_cast<int>(bits)); }},
    {"solarize",
     [](Image& image, double threshold) { solarize(image, static_cast<int>(threshold)); }},
    {"flip", [](Image& image, double) { flip_horizontally(image); }},
    {"vflip", [](Image& image, double) { flip_vertically(image); }},
};

int run(const std::vector<std::string>& a) {
  const auto number = [&](size_t i) { return std::stoll(a.at(i)); };
  if (a.at(0) == "decode") {  // FILE channels [top left height width [reduce]]
    const io::MappedFile file(a.at(1));
    const auto picture = open_picture(file.bytes(), a.at(1));
    Region region{0, 0, picture->height(), picture->width()};
    if (a.size() > 3) region = {number(3), number(4), number(5), number(6)};
    write_image(picture->decode(region, number(2), a.size() > 7 ? number(7) : 1));
  } else if (a.at(0) == "resize") {  // height width filter [top left height width]
    Region window{0, 0, number(1), number(2)};
    if (a.size() > 4) window = {number(4), number(5), number(6), number(7)};
    write_image(resize(read_image(), number(1), number(2), filter_of(a.at(3)), window));
  } else if (a.at(0) == "eval") {  // FILE height width filter crop_pct
    write_image(evaluated(a.at(1), number(2), number(3), a.at(4), std::stod(a.at(5))));
  } else if (a.at(0) == "affine") {  // filter a b c d e f
    std::array<double, 6> map;
    for (size_t i = 0; i < 6; ++i) map[i] = std::stod(a.at(2 + i));
    write_image(affine(read_image(), map, filter_of(a.at(1)), {10, 20, 30}));
  } else if (a.at(0) == "rotate") {  // filter degrees
    write_image(rotate(read_image(), std::stod(a.at(2)), filter_of(a.at(1)), {10, 20, 30}));
  } else if (const auto found = kColorOperations.find(a.at(0));
             found != kColorOperations.end()) {  // argument
    Image image = read_image();
    found->second(image, std::stod(a.at(1)));
    write_image(image);
  } else {
    throw Error("image_probe", "unknown operation {}", a.at(0));
  }
  return 0;
}

}  // namespace
}  // namespace centavo::data

int main(int argc, char** argv) {
  try {
    return centavo::data::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
