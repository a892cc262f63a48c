// Analytic descriptions of well-known architectures under timm's names, for models that published
// figures use and that the zoo need not hold. A model of the zoo is better described by its own
// graph (workload_from_graph.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "centavo/fleet/workload.h"

namespace centavo::fleet {

// What is trained, apart from where.
struct TrainingSetup {
  std::string model;
  int batch = 0;  // per worker
  std::string precision = "bf16";
  std::string optimizer = "adamw";
  int image_size = 0;  // or sequence length; 0: the model's own
};

// Throws Error for an unknown model (with the nearest name), precision, optimizer or a batch
// below 1.
Workload describe_architecture(const TrainingSetup& setup);
bool has_architecture(std::string_view model);
std::vector<std::string> architecture_names();
// Image size or sequence length that the model has unless told otherwise; 0 for an unknown model.
int own_size(std::string_view model);

}  // namespace centavo::fleet
