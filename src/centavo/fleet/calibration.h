// Calibration: fits the cost model's parameters to measured rows and says how well unseen rows are
// predicted.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "centavo/fleet/predictor.h"
#include "centavo/fleet/prices.h"
#include "centavo/fleet/rows.h"

namespace centavo::fleet {

struct RowError {
  std::string id, model, machine, chip;
  ChipKind chip_kind = ChipKind::kOther;
  double measured = 0;   // samples/s
  double predicted = 0;  // with parameters fitted to the other rows
  double fitted = 0;     // with parameters fitted to all rows
  double error() const { return predicted / measured - 1; }
};

struct Calibration {
  Parameters parameters;       // fitted to all rows
  std::vector<RowError> rows;  // leave-one-out
  double median_error = 0;     // of |error()|
  int worse_than_35 = 0;
  // Pairs of rows of one model whose order (in throughput) is predicted right; ties within 5 % are
  // left out.
  int pairs = 0, pairs_right = 0;
};

// Maximum of the posterior: log-normal priors (parameter_infos()) and a robust loss on
// log(predicted / measured), so that one odd row does not bend the rest. Deterministic.
Parameters fit(std::span<const TrainingRow> rows, const Predictor& predictor);

// Fits with and without each row. Rows that cannot be predicted throw Error naming the row.
Calibration calibrate(std::span<const TrainingRow> rows, const Predictor& predictor);

// The +- of predictions: the 80 % quantile of leave-one-out errors by kind of chip, of all rows
// where a kind has fewer than four.
ErrorBands error_bands(const Calibration& calibration);

// Predicted samples per dollar of ratio.better over ratio.than with the prices of `choice`.
double predicted_ratio(const RatioRow& ratio, const Predictor& predictor, const PriceBook& prices,
                       const PriceChoice& choice);

}  // namespace centavo::fleet
