// The counters' table.
#include "centavo/runtime/metrics.h"

#include <mutex>

namespace centavo {
namespace {

struct Table {
  std::mutex mutex;
  std::map<std::string, int64_t> values;
};
Table& table() {
  static Table t;
  return t;
}

}  // namespace

void count(const std::string& name, int64_t amount) {
  std::lock_guard lock(table().mutex);
  table().values[name] += amount;
}

int64_t counter(const std::string& name) {
  std::lock_guard lock(table().mutex);
  auto at = table().values.find(name);
  return at == table().values.end() ? 0 : at->second;
}

std::map<std::string, int64_t> counters() {
  std::lock_guard lock(table().mutex);
  return table().values;
}

}  // namespace centavo
