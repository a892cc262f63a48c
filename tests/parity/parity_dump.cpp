// Trains a model from given weights on one given batch and writes what parity_test.py compares with
// PyTorch:
//   parity_dump MODEL IN.safetensors OUT.safetensors PRECISION OPTIMIZER STEPS [option=value ...]
// IN holds the weights under timm's names, `images` f32 [N, C, H, W] and `labels` i32 [N]. OUT gets
// `losses` f32 [STEPS], and grad.<name> of the first step.
#include <cstdio>
#include <map>

#include "centavo/io/safetensors.h"
#include "centavo/train/step.h"

namespace centavo {
namespace {

ModelOptions options_from(const std::map<std::string, int64_t>& given) {
  ModelOptions o;
  auto take = [&](const char* name, std::optional<int64_t>& value) {
    if (auto at = given.find(name); at != given.end()) value = at->second;
  };
  take("img_size", o.img_size);
  take("patch_size", o.patch_size);
  take("in_chans", o.in_chans);
  take("num_classes", o.num_classes);
  take("embed_dim", o.embed_dim);
  take("depth", o.depth);
  take("num_heads", o.num_heads);
  return o;
}

int run(int argc, char** argv) {
  if (argc < 7)
    throw Error("parity_dump", "expects MODEL IN OUT PRECISION OPTIMIZER STEPS [option=value ...]");
  std::map<std::string, int64_t> given;
  for (int i = 7; i < argc; ++i) {
    std::string text = argv[i];
    size_t equals = text.find('=');
    given[text.substr(0, equals)] = std::stoll(text.substr(equals + 1));
  }
  std::unique_ptr<Model> model = make_model(argv[1], options_from(given));
  io::SafetensorsFile in(argv[2]);
  std::unique_ptr<Optimizer> optimizer = make_optimizer(argv[5], default_options(argv[5]));
  StepOptions options{precision_from_name(argv[4])};
  TrainStep step(*model, *optimizer, options);
  load_parameters(argv[2], *model, step);
  Tensor images = from_host(in.at("images").type, in.at("images").data);
  Tensor labels = from_host(in.at("labels").type, in.at("labels").data);

  std::vector<Tensor> arguments = step.parameters();
  arguments.push_back(images);
  arguments.push_back(labels);
  arguments.push_back(from_vector<uint32_t>({2}, {0, 0}));
  std::vector<Tensor> results = make_gradient_function(*model, options)(arguments);
  std::vector<std::vector<float>> values;
  std::vector<io::NamedTensor> out;
  const auto& specs = model->parameters().specs();
  values.reserve(specs.size() + 1);
  for (size_t i = 0; i < specs.size(); ++i) {
    values.push_back(to_vector<float>(results[i + 1]));
    out.push_back({"grad." + specs[i].name, results[i + 1].type(),
                   reinterpret_cast<const std::byte*>(values.back().data())});
  }
  std::vector<float> losses;
  for (int i = 0; i < std::stoi(argv[6]); ++i)
    losses.push_back(static_cast<float>(item(step.run(images, labels, 1e-3))));
  out.push_back({"losses",
                 {DType::kF32, {static_cast<int64_t>(losses.size())}},
                 reinterpret_cast<const std::byte*>(losses.data())});
  io::write_safetensors(argv[3], out);
  return 0;
}

}  // namespace
}  // namespace centavo

int main(int argc, char** argv) {
  try {
    return centavo::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
