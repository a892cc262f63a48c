// The makers of each kind of dataset without images of its own, for open_dataset's table.
#pragma once

#include <memory>
#include <string>

#include "centavo/data/dataset.h"

namespace centavo::data {

std::shared_ptr<const Dataset> open_fake(const DatasetOptions& options);
std::shared_ptr<const Dataset> open_text(const std::string& path, const DatasetOptions& options);

}  // namespace centavo::data
