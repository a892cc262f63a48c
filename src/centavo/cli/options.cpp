// Definitions of the shared options.
#include "centavo/cli/options.h"

#include <unistd.h>

#include "centavo/base/text.h"

namespace centavo::cli {
namespace {

// A check that offers the nearest of the known names.
CLI::Validator known_name(const std::string& what, std::vector<std::string> names) {
  return CLI::Validator(
      [what, names = std::move(names)](std::string& value) -> std::string {
        if (std::find(names.begin(), names.end(), value) != names.end()) return {};
        return fmt::format("unknown {} '{}'{}", what, value, did_you_mean(value, names));
      },
      "");
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const ModelEntry& entry : list_models()) names.push_back(entry.name);
  return names;
}

}  // namespace

ModelFlags::ModelFlags(CLI::App& app) {
  const std::string group = "Model";
  app.add_option("-m,--model", name, "Model by timm's name; `centavo models` lists them")
      ->required()
      ->check(known_name("model", model_names()))
      ->type_name("NAME")
      ->group(group);
  auto size = [&](const char* flag, std::optional<int64_t>& value, const char* help) {
    app.add_option(flag, value, help)->check(CLI::PositiveNumber)->type_name("N")->group(group);
  };
  size("--img-size", options.img_size, "Height and width of the images");
  size("--in-chans", options.in_chans, "Channels of the images");
  size("--num-classes", options.num_classes, "Classes to tell apart");
  size("--patch-size", options.patch_size, "vit: height and width of a patch");
  size("--embed-dim", options.embed_dim, "vit: width of a token");
  size("--depth", options.depth, "vit: number of blocks");
  size("--num-heads", options.num_heads, "vit: attention heads");
  app.add_option("--mlp-ratio", options.mlp_ratio, "vit: hidden width of the MLP over --embed-dim")
      ->check(CLI::PositiveNumber)
      ->type_name("X")
      ->group(group);
  app.add_flag("--small-stem", options.small_stem,
               "resnet: a 3x3 stem without pooling, for images of 28 or 32")
      ->group(group);
  app.add_option("--hidden", options.hidden, "mlp: widths of the hidden layers")
      ->delimiter(',')
      ->type_name("N,N,...")
      ->group(group);
  app.add_option("--drop", options.drop_rate, "Dropout rate")
      ->check(CLI::Range(0.0, 0.999))
      ->type_name("P")
      ->group(group);
}

std::unique_ptr<Model> ModelFlags::make(const data::Dataset* data) const {
  ModelOptions resolved = options;
  if (data) {
    const Shape& image = data->input_type().shape;
    if (!resolved.in_chans) resolved.in_chans = image[0];
    if (!resolved.img_size) resolved.img_size = image[1];
    if (!resolved.num_classes) resolved.num_classes = data->num_classes();
    if (image[1] != image[2])
      throw Error(data->name(), "images of {}x{} are not square; pass --img-size", image[1],
                  image[2]);
  }
  return make_model(name, resolved);
}

DeviceFlags::DeviceFlags(CLI::App& app) {
  app.add_option("--device", name, "Where to train: `centavo devices` lists them")
      ->check(known_name("device", device_names()))
      ->type_name("NAME")
      ->capture_default_str()
      ->group("Device");
  app.add_option("--threads", threads, "Threads that compute; 0 takes every core")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N")
      ->capture_default_str()
      ->group("Device");
}

Device DeviceFlags::open() const {
  Device device = open_device(name, {.threads = threads});
  set_default_device(device);
  return device;
}

OptimizerFlags::OptimizerFlags(CLI::App& app, const std::string& default_name)
    : name(default_name) {
  const std::string group = "Optimizer";
  app.add_option("--opt", name, "Optimizer: adam, adamw or sgd")
      ->check(known_name("optimizer", optimizer_names()))
      ->type_name("NAME")
      ->capture_default_str()
      ->group(group);
  auto number = [&](const char* flag, std::optional<double>& value, const char* help) {
    app.add_option(flag, value, help)->type_name("X")->group(group);
  };
  number("--lr", lr_, "Learning rate (default 0.001)");
  number("--weight-decay", weight_decay_, "Weight decay (default 0; adamw 0.01)");
  number("--momentum", momentum_, "sgd: momentum (default 0)");
  app.add_flag("--nesterov", nesterov_, "sgd: Nesterov's momentum")->group(group);
  number("--beta1", beta1_, "adam: decay of the first moment (default 0.9)");
  number("--beta2", beta2_, "adam: decay of the second moment (default 0.999)");
  number("--opt-eps", eps_, "adam: epsilon (default 1e-8)");
  app.add_flag("--no-decay-1d", no_decay_, "No weight decay on biases, norms and other vectors")
      ->group(group);
}

OptimizerOptions OptimizerFlags::resolved() const {
  OptimizerOptions o = default_options(name);
  o.lr = lr_.value_or(o.lr);
  o.weight_decay = weight_decay_.value_or(o.weight_decay);
  o.momentum = momentum_.value_or(o.momentum);
  o.beta1 = beta1_.value_or(o.beta1);
  o.beta2 = beta2_.value_or(o.beta2);
  o.eps = eps_.value_or(o.eps);
  o.nesterov = nesterov_;
  o.no_decay_on_vectors = no_decay_;
  return o;
}

void add_precision(CLI::App& app, std::string& precision) {
  app.add_option("--precision", precision,
                 "fp32, bf16-mixed (fp32 weights, bf16 products) or bf16 (everything)")
      ->check(known_name("precision", {"fp32", "bf16-mixed", "bf16"}))
      ->type_name("NAME")
      ->capture_default_str();
}

void add_format(CLI::App& app, Format& format) {
  static const std::map<std::string, Format> names = {{"table", Format::kTable},
                                                      {"json", Format::kJson}};
  app.add_option("--format", format, "Output for people or for programs: table or json")
      ->transform(CLI::CheckedTransformer(names))
      ->type_name("NAME")
      ->default_str("table");
}

data::DatasetOptions dataset_options(const ModelOptions& model, data::Split split) {
  data::DatasetOptions o;
  o.split = split;
  o.channels = model.in_chans;
  o.height = o.width = model.img_size;
  o.num_classes = model.num_classes;
  return o;
}

bool on_terminal() {
  return isatty(STDOUT_FILENO) != 0;
}

}  // namespace centavo::cli
