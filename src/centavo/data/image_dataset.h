// From an ImageSource to a Dataset: each picture goes through a Transform.
#pragma once

#include <memory>

#include "centavo/data/dataset.h"
#include "centavo/data/image_source.h"

namespace centavo::data {

// Samples f32 of `shape` [C,H,W]. A picture that cannot be read is counted, named once in the log
// and replaced by the next readable one, or its error is thrown, as `options.on_error` says. Throws
// Error for options out of range and for an empty source.
std::shared_ptr<const Dataset> make_image_dataset(std::shared_ptr<const ImageSource> source,
                                                  const Shape& shape,
                                                  const DatasetOptions& options);

}  // namespace centavo::data
