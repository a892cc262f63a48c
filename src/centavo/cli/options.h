// Options that several commands share, and the objects made from them.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "centavo/data/dataset.h"
#include "centavo/models/model.h"
#include "centavo/optim/optimizer.h"
#include "centavo/train/step.h"

namespace centavo::cli {

enum class Format { kTable, kJson };

// -- each adds its options to a command and holds their values

struct ModelFlags {
  explicit ModelFlags(CLI::App& app);
  // `data`: takes image size, channels and classes from the data where the user gave none; may be
  // null.
  std::unique_ptr<Model> make(const data::Dataset* data) const;
  std::string name;
  ModelOptions options;
};

struct DeviceFlags {
  explicit DeviceFlags(CLI::App& app);
  // Joins the job that mpirun started, if any, and opens the device. Other ranks than 0 print
  // nothing to standard output from then on.
  Device open();
  std::string name = "cpu";
  int threads = 0;
  double comm_timeout = 60;  // seconds
  double bucket_mib = 8;
  std::shared_ptr<dist::Group> group;  // once opened
};

struct OptimizerFlags {
  explicit OptimizerFlags(CLI::App& app, const std::string& default_name);
  // The options with the optimizer's own defaults where the user gave none.
  OptimizerOptions resolved() const;
  std::unique_ptr<Optimizer> make() const { return make_optimizer(name, resolved()); }
  std::string name;

 private:
  std::optional<double> lr_, weight_decay_, momentum_, beta1_, beta2_, eps_;
  bool nesterov_ = false, no_decay_ = false;
};

// Checks with messages for people: one that offers the nearest of the known names, and bounds on
// numbers.
CLI::Validator known_name(const std::string& what, std::vector<std::string> names);
CLI::Validator positive();
CLI::Validator non_negative();
CLI::Validator probability();  // in [0, 1)

// Adds an option that shows its type and, unless empty, its default.
template <class T>
CLI::Option* add_value(CLI::App& app, const char* group, const char* flags, T& value,
                       const char* type, const std::string& help) {
  return app.add_option(flags, value, help)->type_name(type)->capture_default_str()->group(group);
}

void add_precision(CLI::App& app, std::string& precision);
void add_format(CLI::App& app, Format& format);

// True when standard output is a terminal.
bool on_terminal();

}  // namespace centavo::cli
