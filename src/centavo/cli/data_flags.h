// Flags that say what data there is and how images are prepared, in timm's terms; and the datasets
// made from them.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "centavo/data/dataset.h"
#include "centavo/data/mix.h"
#include "centavo/models/model.h"

namespace centavo::cli {

struct DataFlags {
  // `default_spec`: the data where the user names none; empty: it has to be named.
  DataFlags(CLI::App& app, const std::string& default_spec);
  // The split, with what the user said about the model's images and classes.
  std::shared_ptr<const data::Dataset> open(const ModelOptions& model, data::Split split) const;

  std::string spec, evaluation_spec;
  data::MixOptions mix;  // of training batches

 private:
  void add_augmentation(CLI::App& app);
  void add_mixing(CLI::App& app);
  void add_preparation(CLI::App& app);
  std::optional<data::Augmentation> augmentation() const;

  data::DatasetOptions options_;
  bool no_augmentation_ = false;
  // What the user changed about the data's own augmentation.
  std::vector<std::function<void(data::Augmentation&)>> changes_;
};

}  // namespace centavo::cli
