// The makers of each kind of dataset, for open_dataset's table.
#pragma once

#include <memory>
#include <string>

#include "centavo/data/dataset.h"

namespace centavo::data {

std::shared_ptr<const Dataset> open_fake(const DatasetOptions& options);
std::shared_ptr<const Dataset> open_idx(const std::string& directory,
                                        const DatasetOptions& options);
std::shared_ptr<const Dataset> open_folder(const std::string& directory,
                                           const DatasetOptions& options);

}  // namespace centavo::data
