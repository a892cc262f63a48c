// Importers of what pads, reduces and slides windows.
#pragma once

#include "centavo/stablehlo/importer.h"

namespace centavo::stablehlo {

Tensors import_convolution(const OpReader& r);
Tensors import_pad(const OpReader& r);
Tensors import_reduce(const OpReader& r);
Tensors import_reduce_window(const OpReader& r);
Tensors import_select_and_scatter(const OpReader& r);

}  // namespace centavo::stablehlo
