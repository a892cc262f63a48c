// Predictor: what one training step takes on a machine, and why. Joins the device model, the
// collectives and the step simulator; knows nothing of prices.
#pragma once

#include <string>
#include <string_view>

#include "centavo/fleet/catalogue.h"
#include "centavo/fleet/collectives.h"
#include "centavo/fleet/device_model.h"
#include "centavo/fleet/parameters.h"
#include "centavo/fleet/simulator.h"
#include "centavo/fleet/software.h"
#include "centavo/fleet/workload.h"

namespace centavo::fleet {

// How a workload is run. Zeros mean the default.
struct RunSetup {
  int instances = 1;
  int workers = 0;         // per instance; default: all that its chips hold
  int loader_workers = 0;  // per worker; default: the host's vcpus shared out, at most 16
  int accumulate = 1;      // batches per optimizer step
  int steps_per_launch = 1;
  bool recompute = false;  // drop activations inside blocks and compute them again in backward
  Layout layout = Layout::kNhwc;
  bool has_run = false;  // somebody ran it, so it fits whatever the memory model says
  std::string date;      // of the software, for limits that hold only for a time; "": today's
};

// What a step's time is mostly spent on.
enum class Bound { kCompute, kMemory, kLaunch, kInput, kNetwork };
std::string_view name_of(Bound bound);

struct Prediction {
  double seconds = 0;             // an optimizer step
  double samples_per_second = 0;  // of all workers together
  int workers = 0;                // of all instances together
  Bound bound = Bound::kCompute;
  SimulatedStep parts;
  DeviceTimes device;       // of one batch
  double memory_bytes = 0;  // needed by one worker
  double memory_available = 0;
  bool recompute = false;
  std::string warning;  // a limit that marks the row; empty if none
};

class Predictor {
 public:
  Predictor(Catalogue catalogue, SoftwareTable software, Parameters parameters, ErrorBands bands)
      : catalogue_(std::move(catalogue)),
        software_(std::move(software)),
        parameters_(parameters),
        bands_(std::move(bands)) {}
  // The catalogue, software and fitted parameters of data_dir().
  static Predictor load();
  static Predictor load(const std::filesystem::path& dir);  // of one directory only

  // Throws Error saying why the machine cannot run it: a limit, no figures, a worker count, memory.
  Prediction predict(const Instance& instance, const Workload& workload,
                     const RunSetup& setup) const;

  const Catalogue& catalogue() const { return catalogue_; }
  const SoftwareTable& software() const { return software_; }
  const Parameters& parameters() const { return parameters_; }
  // Relative half-width of about 80 % of errors on that chip.
  double band(const Chip& chip) const { return bands_.of(chip); }
  void set_parameters(const Parameters& parameters) { parameters_ = parameters; }

 private:
  Catalogue catalogue_;
  SoftwareTable software_;
  Parameters parameters_;
  ErrorBands bands_;
};

// Why `setup` cannot run on `instance`, as an Error; returns a warning for limits that only mark.
std::string check_limits(const Catalogue& catalogue, const Instance& instance,
                         const Workload& workload, const RunSetup& setup);

}  // namespace centavo::fleet
