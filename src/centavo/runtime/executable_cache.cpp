// The in-memory cache.
#include "centavo/runtime/executable_cache.h"

#include <map>
#include <mutex>
#include <tuple>

#include "centavo/base/timer.h"
#include "centavo/runtime/metrics.h"

namespace centavo {
namespace {

using Key = std::tuple<const Backend*, uint64_t, std::string>;

struct Cache {
  std::mutex mutex;
  std::map<Key, std::weak_ptr<Executable>> entries;
};
Cache& cache() {
  static Cache c;
  return c;
}

}  // namespace

std::shared_ptr<Executable> cached_compile(const Graph& graph, const Device& device) {
  Key key{device.get(), structural_hash(graph), device->fingerprint()};
  std::lock_guard lock(cache().mutex);
  if (auto found = cache().entries[key].lock()) {
    count("CachedCompile");
    return found;
  }
  Timer timer;
  std::shared_ptr<Executable> executable = device->compile(graph);
  count("Compile");
  count("CompileNanoseconds", static_cast<int64_t>(timer.seconds() * 1e9));
  cache().entries[key] = executable;
  return executable;
}

}  // namespace centavo
