// All tensor functions.
#pragma once

#include "centavo/ops/all_reduce.h"
#include "centavo/ops/conv.h"
#include "centavo/ops/creation.h"
#include "centavo/ops/elementwise.h"
#include "centavo/ops/linear.h"
#include "centavo/ops/movement.h"
#include "centavo/ops/nn.h"
#include "centavo/ops/reduce.h"
#include "centavo/ops/update.h"
