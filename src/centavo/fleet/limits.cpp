// What a machine cannot do, whatever its speed.
#include <algorithm>

#include "centavo/base/error.h"
#include "centavo/base/text.h"
#include "centavo/fleet/predictor.h"

namespace centavo::fleet {
namespace {

bool applies(const Limit& limit, const Instance& instance, const Workload& workload,
             const std::string& date) {
  if (!glob_match(limit.instances, instance.name)) return false;
  if (!limit.chip_kind.empty() && limit.chip_kind != name_of(instance.chip.kind)) return false;
  if (!limit.since.empty() && !date.empty() && date < limit.since) return false;
  if (!limit.until.empty() && (date.empty() || date >= limit.until)) return false;
  if (limit.op_class.empty()) return true;
  return std::any_of(workload.ops.begin(), workload.ops.end(), [&](const OpCost& op) {
    // A patch embedding is one convolution that compilers turn into a matrix product.
    return name_of(op.op_class) == limit.op_class && op.flops > 0 &&
           workload.flops(op.op_class) > 0.1 * workload.flops();
  });
}

std::string list(const std::vector<int>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ", "));
}

}  // namespace

std::string check_limits(const Catalogue& catalogue, const Instance& instance,
                         const Workload& workload, const RunSetup& setup) {
  const std::string& name = instance.name;
  if (!instance.chip.no_training.empty()) throw Error(name, "{}", instance.chip.no_training);
  const int workers = setup.workers > 0 ? setup.workers : instance.workers();
  if (workers > instance.workers())
    throw Error(name, "{} workers on {} of {}: at most {}", workers, instance.chips,
                instance.chip.name, instance.workers());
  const int per_chip = std::min(workers, instance.chip.workers);
  if (workers % per_chip != 0)
    throw Error(name, "{} workers do not divide over chips of {} workers", workers,
                instance.chip.workers);
  std::string warning;
  for (const Limit& limit : catalogue.limits()) {
    if (!applies(limit, instance, workload, setup.date)) continue;
    if (limit.warn) {
      warning = limit.why;
      continue;
    }
    if (!limit.training) throw Error(name, "{}", limit.why);
    if (limit.max_instances > 0 && setup.instances > limit.max_instances)
      throw Error(name, "{} instances: {}", setup.instances, limit.why);
    if (!limit.workers.empty() &&
        std::find(limit.workers.begin(), limit.workers.end(), workers) == limit.workers.end())
      throw Error(name, "{} workers: {}; allowed: {}", workers, limit.why, list(limit.workers));
  }
  return warning;
}

}  // namespace centavo::fleet
