// The kernel's affinity mask.
#include "centavo/dist/bound_cores.h"

#include <sched.h>

namespace centavo::dist {

CoreSet bound_cores() {
  CoreSet cores;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores.set(0);
  for (size_t i = 0; i < cores.size() && i < CPU_SETSIZE; ++i) cores[i] = CPU_ISSET(i, &set);
  return cores;
}

}  // namespace centavo::dist
