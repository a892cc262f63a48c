// The one header that programs using the library include.
#pragma once

#include "centavo/autodiff/grad.h"
#include "centavo/base/philox.h"
#include "centavo/data/loader.h"
#include "centavo/io/safetensors.h"
#include "centavo/models/model.h"
#include "centavo/nn/layers.h"
#include "centavo/ops/ops.h"
#include "centavo/optim/optimizer.h"
#include "centavo/optim/schedule.h"
#include "centavo/runtime/metrics.h"
#include "centavo/runtime/runtime.h"
#include "centavo/train/bench.h"
#include "centavo/train/trainer.h"
