// A loader's batch as tensors.
#pragma once

#include "centavo/data/loader.h"
#include "centavo/runtime/runtime.h"

namespace centavo {

// f32 [N, C, H, W].
inline Tensor upload_images(const data::Batch& batch, const Device& device) {
  return from_host(batch.input_type(), batch.input(), device);
}
// i32 [N]; padding is -1.
inline Tensor upload_labels(const data::Batch& batch, const Device& device) {
  return from_host(batch.target_type(), batch.targets().data(), device);
}

}  // namespace centavo
