// Comparison: what one training step takes and costs on every instance type.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "centavo/fleet/predictor.h"
#include "centavo/fleet/prices.h"
#include "centavo/fleet/result_table.h"
#include "centavo/fleet/rows.h"

namespace centavo::fleet {

enum class SortBy { kCost, kSpeed };

struct CompareRequest {
  Workload workload;
  RunSetup setup;         // its `instances` is how many machines of each type
  std::string instances;  // comma-separated globs; "": all
  PriceChoice prices;
  SortBy sort = SortBy::kCost;
  std::vector<TrainingRow>
      measured;  // rows of this model and setting take the place of predictions
};

struct CompareRow {
  std::string instance;
  std::string chips;  // "16 Trainium", "4 cores EPYC 9R14"
  int count = 1;
  int workers = 0;  // of all machines together
  double seconds = 0, samples_per_second = 0;
  std::optional<Price> price;  // of one machine
  bool measured = false;
  double band = 0;    // predicted: relative half-width of about 80 % of errors
  std::string bound;  // compute, memory, launch, input, network; "" for measured rows
  std::string warning;
  bool cheapest = false, fastest = false, pareto = false;
  Prediction prediction;  // empty for measured rows

  double usd_per_hour() const {
    return price ? count * price->usd_per_hour : 0;
  }  // of all machines; 0: unknown
  double usd_per_million() const { return usd_per_hour() / 3600 / samples_per_second * 1e6; }
};

struct Refusal {
  std::string instance, why;
};

struct Comparison {
  std::vector<CompareRow> rows;  // sorted; rows without a price last
  std::vector<Refusal> refused;  // what cannot run it, with the reason
  std::vector<std::string> assumptions;
  std::string title;  // model, batch, precision, optimizer
};

// Throws Error when the globs match nothing or no row is left.
Comparison compare(const CompareRequest& request, const Predictor& predictor,
                   const PriceBook& prices);

// INSTANCE CHIPS WORKERS SEC/STEP SAMPLES/S $/HR $/1M SAMPLES VS CHEAPEST BOUND BY SOURCE
ResultTable compare_table(const Comparison& comparison);
// All of it for people: title, table, refusals in groups, assumptions.
std::string compare_text(const Comparison& comparison, TableFormat format);

// "measured" or "predicted +-24 %".
std::string source_of(const CompareRow& row);

// What a price says of itself: "on-demand, us-east-1, 2026-09".
std::string describe(const Price& price);

// measured / predicted throughput of a kind of chip over the rows that can be predicted, pulled
// towards 1 as by one row that agrees; 1 without rows.
double speed_factor(const std::vector<TrainingRow>& measured, ChipKind kind,
                    const Predictor& predictor);

}  // namespace centavo::fleet
