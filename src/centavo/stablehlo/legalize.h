// Graph -> the same graph in ops that StableHLO has had since v1.0.
#pragma once

#include "centavo/ir/graph.h"

namespace centavo::stablehlo {

// Decomposes every composite and rewrites the primitives that StableHLO lacks or leaves to the
// implementation:
//  - erf: a rational approximation in f32 (f64 for f64), relative error below 2e-9 before rounding;
//  - rng_bit_generator: Philox4x32-10 in 32-bit integer arithmetic, so that every device draws the
//    same words;
//  - bf16 sums (reduce, reduce_window, all_reduce): made in f32, as Centavo's own backends do;
//  - all_reduce: one tensor each, its scale a product.
// Then merges equal expressions and drops unused ones. Inputs, outputs and aliases stay as they
// are.
Graph legalize(const Graph& graph);

}  // namespace centavo::stablehlo
