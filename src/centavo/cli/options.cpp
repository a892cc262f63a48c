// Definitions of the shared options.
#include "centavo/cli/options.h"

#include <cstdio>
#include <unistd.h>

#include "centavo/base/log.h"
#include "centavo/base/text.h"
#include "centavo/dist/launcher.h"

namespace centavo::cli {
namespace {

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const ModelEntry& entry : list_models()) names.push_back(entry.name);
  return names;
}

CLI::Validator number_check(const std::string& expected, std::function<bool(double)> holds) {
  return CLI::Validator(
      [expected, holds = std::move(holds)](std::string& text) -> std::string {
        double value = 0;
        if (CLI::detail::lexical_cast(text, value) && holds(value)) return {};
        return fmt::format("expects {}, not '{}'", expected, text);
      },
      "");
}

}  // namespace

CLI::Validator positive() {
  return number_check("a positive number", [](double x) { return x > 0; });
}
CLI::Validator non_negative() {
  return number_check("a number that is not negative", [](double x) { return x >= 0; });
}
CLI::Validator probability() {
  return number_check("a number from 0 to below 1", [](double x) { return x >= 0 && x < 1; });
}

CLI::Validator known_name(const std::string& what, std::vector<std::string> names) {
  return CLI::Validator(
      [what, names = std::move(names)](std::string& value) -> std::string {
        if (std::find(names.begin(), names.end(), value) != names.end()) return {};
        return fmt::format("unknown {} '{}'{}", what, value, did_you_mean(value, names));
      },
      "");
}

ModelFlags::ModelFlags(CLI::App& app) {
  const std::string group = "Model";
  app.add_option("-m,--model", name, "Model by timm's name; `centavo models` lists them")
      ->required()
      ->check(known_name("model", model_names()))
      ->type_name("NAME")
      ->group(group);
  auto size = [&](const char* flag, std::optional<int64_t>& value, const char* help) {
    app.add_option(flag, value, help)->check(positive())->type_name("N")->group(group);
  };
  size("--img-size", options.img_size, "Height and width of the images");
  app.add_option_function<std::array<int64_t, 3>>(
         "--input-size",
         [this](const std::array<int64_t, 3>& chw) {
           if (chw[1] != chw[2])
             throw CLI::ValidationError(
                 "--input-size", fmt::format("expects a square image, not {}x{}", chw[1], chw[2]));
           options.in_chans = chw[0];
           options.img_size = chw[1];
         },
         "--in-chans and --img-size in one")
      ->check(positive())
      ->type_name("C H W")
      ->group(group);
  size("--in-chans", options.in_chans, "Channels of the images");
  size("--num-classes", options.num_classes, "Classes to tell apart");
  size("--patch-size", options.patch_size, "vit, deit, mixer: height and width of a patch");
  size("--embed-dim", options.embed_dim, "vit, deit, mixer: width of a token");
  size("--depth", options.depth, "vit, deit, mixer: number of blocks");
  size("--num-heads", options.num_heads, "vit, deit: attention heads");
  app.add_option("--mlp-ratio", options.mlp_ratio,
                 "vit, deit: hidden width of the MLP over --embed-dim")
      ->check(positive())
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
      ->check(probability())
      ->type_name("P")
      ->group(group);
}

std::unique_ptr<Model> ModelFlags::make(const data::Dataset* data) const {
  ModelOptions resolved = options;
  if (data) {
    const Shape& image = data->input_type().shape;
    if (image.rank() != 3)
      throw Error(data->name(), "samples are {}, '{}' takes images", to_string(image), name);
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
  add_value(app, "Device", "--device", name, "NAME", "Where to train: `centavo devices` lists them")
      ->check(known_name("device", device_names()));
  add_value(app, "Device", "--threads", threads, "N",
            "Threads that compute; 0 takes every core (under mpirun: those the rank is bound to)")
      ->check(non_negative());
  add_value(app, "Device", "--comm-timeout", comm_timeout, "S",
            "Under mpirun: seconds to wait for another rank before ending the job")
      ->check(positive());
  add_value(app, "Device", "--bucket-mib", bucket_mib, "X",
            "Under mpirun: MiB of gradients that are reduced together")
      ->check(positive());
}

Device DeviceFlags::open() {
  group = dist::open_group({.timeout = comm_timeout});
  if (group->size() > 1) {
    if (name != "cpu")
      throw Error("device", "'{}' trains in one process; leave mpirun out, or use --device cpu",
                  name);
    set_log_prefix(fmt::format("rank {}: ", group->rank()));
    if (group->rank() > 0) {
      set_log_level(LogLevel::kWarning);
      if (!std::freopen("/dev/null", "w", stdout)) throw Error("dist", "cannot open /dev/null");
    }
  }
  Device device =
      open_device(name, {.threads = threads > 0 ? threads : group->threads(), .group = group});
  set_default_device(device);
  return device;
}

OptimizerFlags::OptimizerFlags(CLI::App& app, const std::string& default_name)
    : name(default_name) {
  const std::string group = "Optimizer";
  add_value(app, "Optimizer", "--opt", name, "NAME", "Optimizer: adam, adamw or sgd")
      ->check(known_name("optimizer", optimizer_names()));
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
  add_value(app, "Training", "--precision", precision, "NAME",
            "fp32, bf16-mixed (fp32 weights) or bf16 (everything)")
      ->check(known_name("precision", {"fp32", "bf16-mixed", "bf16"}));
}

void add_format(CLI::App& app, Format& format) {
  app.add_option_function<std::string>(
         "--format",
         [&format](const std::string& name) {
           format = name == "json" ? Format::kJson : Format::kTable;
         },
         "Output for people or for programs: table or json")
      ->check(known_name("format", {"table", "json"}))
      ->type_name("NAME")
      ->default_str("table")
      ->group("Output");
}

bool on_terminal() {
  // mpirun gives its ranks a terminal even where its own output goes to a file.
  return !dist::started_by_launcher() && isatty(STDOUT_FILENO) != 0;
}

}  // namespace centavo::cli
