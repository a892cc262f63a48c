// Explanation: one prediction taken apart, and what would help.
#pragma once

#include <string>
#include <vector>

#include "centavo/fleet/predictor.h"
#include "centavo/fleet/result_table.h"

namespace centavo::fleet {

struct Suggestion {
  std::string what;               // "twice the batch (32 a worker)"
  double samples_per_second = 0;  // with it
};

struct Explanation {
  std::string title;
  Prediction prediction;
  double band = 0;
  int batch = 0;
  double spill = 1;       // memory traffic factor of chips with software-managed memory
  double all_reduce = 0;  // s that links are busy with gradients in a step, hidden or not
  std::vector<Suggestion> suggestions;  // best first; those that gain at least 1 %
};

// `larger` is the same training at twice the batch; may be null. Throws Error when the machine
// cannot run it.
Explanation explain(const Instance& instance, const Workload& workload, const RunSetup& setup,
                    const Workload* larger, const Predictor& predictor);

// PART MS SHARE: the step's parts on the slowest path; compute by op class.
ResultTable explain_table(const Explanation& explanation);
std::string explain_text(const Explanation& explanation, TableFormat format);

}  // namespace centavo::fleet
