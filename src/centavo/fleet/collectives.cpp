// The collectives' model. Formulas: Thakur, Rabenseifner and Gropp, "Optimization of Collective
// Communication Operations in MPICH" (2005), with a start-up term added.
#include "centavo/fleet/collectives.h"

#include <algorithm>
#include <cmath>

#include "centavo/base/error.h"

namespace centavo::fleet {
namespace {

// Log-log interpolation; flat below the first point, proportional to the bytes above the last.
double interpolate(const std::vector<Link::Point>& points, double bytes) {
  if (bytes <= points.front().bytes) return points.front().seconds;
  if (bytes >= points.back().bytes) return points.back().seconds * bytes / points.back().bytes;
  auto above = std::find_if(points.begin(), points.end(),
                            [=](const Link::Point& p) { return p.bytes >= bytes; });
  const Link::Point &low = *(above - 1), &high = *above;
  const double t = std::log(bytes / low.bytes) / std::log(high.bytes / low.bytes);
  return low.seconds * std::pow(high.seconds / low.seconds, t);
}

// Hops along the longer way of the most nearly square torus of r members: (a - 1) + (b - 1).
int torus_hops(int r) {
  int a = static_cast<int>(std::sqrt(static_cast<double>(r)));
  while (r % a != 0) --a;
  return a - 1 + r / a - 1;
}

double log2_ceil(int r) {
  return std::ceil(std::log2(static_cast<double>(r)));
}

}  // namespace

double all_reduce_seconds(const Level& level, double bytes) {
  const int r = level.members;
  const Link& link = level.link;
  if (r <= 1) return 0;
  if (link.measured_ranks == r) return interpolate(link.measured, bytes);
  const double rate = level.bandwidth * link.efficiency;
  const double ring = 2.0 * (r - 1) / r * bytes / rate;
  switch (link.shape) {
    case LinkShape::kRing:
    case LinkShape::kSwitch:
      return link.start + 2 * (r - 1) * link.hop + ring;
    case LinkShape::kLine:
      return link.start + 2 * (r - 1) * link.hop + 2 * ring;
    case LinkShape::kTorus:
      return link.start + 2 * torus_hops(r) * link.hop + ring;
    case LinkShape::kTree:
      return link.start + 2 * log2_ceil(r) * link.hop + 2 * bytes / rate;
  }
  CENTAVO_UNREACHABLE();
}

double all_reduce_seconds(const Topology& topology, double bytes) {
  double seconds = 0;
  for (const Level& level : topology) {
    double best = all_reduce_seconds(level, bytes);
    if (&level == &topology.back() && level.link.bandwidth == 0) {  // the network
      Level tree = level;
      tree.link.shape = LinkShape::kTree;
      best = std::min(best, all_reduce_seconds(tree, bytes));
    }
    seconds += best;
    bytes /= level.members;
  }
  return seconds;
}

Topology topology_of(const Catalogue& catalogue, const Instance& instance, int workers,
                     int instances) {
  Topology topology;
  const int per_chip = std::min(workers, instance.chip.workers);
  const int chips = workers / per_chip;
  if (per_chip > 1) {
    const Link& link = catalogue.link(instance.chip.link);
    topology.push_back({link, per_chip, link.bandwidth});
  }
  if (chips > 1) {
    if (instance.link.empty())
      throw Error("fleet", "the catalogue knows no link between the chips of {}", instance.name);
    const Link& link = catalogue.link(instance.link);
    topology.push_back({link, chips, link.bandwidth});
  }
  if (instances > 1)
    topology.push_back(
        {catalogue.link(instance.efa ? "efa" : "ethernet"), instances, instance.network});
  return topology;
}

}  // namespace centavo::fleet
