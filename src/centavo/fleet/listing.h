// Texts of what the catalogue, the price book and the calibration hold.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "centavo/fleet/calibration.h"
#include "centavo/fleet/prices.h"
#include "centavo/fleet/result_table.h"

namespace centavo::fleet {

// Types matching the globs ("": all), their chips, host, links, price and what they cannot do.
std::string instances_text(const Catalogue& catalogue, std::string_view globs,
                           const PriceBook& prices, const PriceChoice& choice, bool sources,
                           TableFormat format);

// Every price of types matching the globs, newest first.
std::string prices_text(const PriceBook& prices, std::string_view globs, TableFormat format);

// Leave-one-out errors, their summary, the fitted parameters and the published ratios.
std::string calibration_text(const Calibration& calibration, const std::vector<RatioRow>& ratios,
                             const Predictor& fitted, TableFormat format);

// Predictions of rows beside what was measured, without fitting to them.
std::string check_text(const std::vector<TrainingRow>& rows, const Predictor& predictor,
                       TableFormat format);

}  // namespace centavo::fleet
