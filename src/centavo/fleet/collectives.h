// All-reduce times over an instance's links and the network between instances.
#pragma once

#include <vector>

#include "centavo/fleet/catalogue.h"

namespace centavo::fleet {

// One level of a hierarchy: `members` groups joined by a link, each sending `bandwidth` B/s.
struct Level {
  Link link;
  int members = 1;
  double bandwidth = 0;  // B/s that one member sends, before efficiency
};

// Levels from the innermost outwards: cores of a chip, chips of an instance, instances.
using Topology = std::vector<Level>;

// Closed forms for S bytes among r members, each sending B = bandwidth * efficiency, h a hop, s the
// start:
//   ring, switch  s + 2(r-1)h + 2(r-1)/r S/B       (reduce-scatter, then all-gather)
//   line          as a ring folded onto the line: each link carries it both ways, so B/2
//   torus a x b   s + 2(a+b-2)h + 2(r-1)/r S/B     (rows, then columns, on all links at once)
//   tree          s + 2 ceil(log2 r) h + 2 S/B     (reduce to the root, broadcast from it,
//   pipelined)
// Where the link has published times for exactly r members, those are interpolated instead
// (log-log).
double all_reduce_seconds(const Level& level, double bytes);

// Hierarchical: reduce-scatter inwards to outwards, all-gather back, so each level moves a part of
// the bytes of the one inside it. Between instances the faster of ring and tree is taken, as the
// communication libraries do.
double all_reduce_seconds(const Topology& topology, double bytes);

// The topology of `workers` workers on each of `instances` machines of one type.
// Throws Error when chips must be joined but the catalogue knows no link.
Topology topology_of(const Catalogue& catalogue, const Instance& instance, int workers,
                     int instances);

}  // namespace centavo::fleet
