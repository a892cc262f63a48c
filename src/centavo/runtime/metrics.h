// Process-wide counters of what the runtime did. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace centavo {

// Counter names in use: "Compile", "CompileNanoseconds", "CachedCompile", "Execute",
// "FallbackOps::<op>".
void count(const std::string& name, int64_t amount = 1);
int64_t counter(const std::string& name);
std::map<std::string, int64_t> counters();

}  // namespace centavo
