// Random inputs for an op's cases, shared by the conformance and gradient tests.
#pragma once

#include "centavo/base/philox.h"
#include "centavo/ir/op.h"

namespace centavo {

// Values of the case's inputs, already rounded to their dtypes.
inline std::vector<Array> draw_inputs(const Case& c, uint64_t seed) {
  std::vector<Array> arrays;
  Philox rng(seed);
  for (const CaseInput& input : c.inputs) {
    Array array(input.type);
    for (int64_t i = 0; i < array.size(); ++i) {
      double u = rng.next_uniform();
      double span = input.high - input.low;
      array.set(i,
                array.floating() ? input.low + u * span : input.low + std::floor(u * (span + 1)));
    }
    std::vector<std::byte> bytes(static_cast<size_t>(input.type.bytes()));
    array.to_bytes(bytes.data());
    arrays.push_back(Array::from_bytes(input.type, bytes.data()));
  }
  return arrays;
}

}  // namespace centavo
