// What an MPI launcher (mpirun, or srun with PMIx) tells a process in its environment, before MPI
// is opened.
#pragma once

#include <cstdlib>
#include <initializer_list>

namespace centavo::dist {

// The value of the first of the variables that is set, or `otherwise`.
inline int launcher_number(std::initializer_list<const char*> names, int otherwise) {
  for (const char* name : names) {
    if (const char* text = std::getenv(name)) return std::atoi(text);
  }
  return otherwise;
}
inline int launcher_rank() {
  return launcher_number({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}, 0);
}
inline int launcher_size() {
  return launcher_number({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, 1);
}
inline bool started_by_launcher() {
  return std::getenv("OMPI_COMM_WORLD_RANK") || std::getenv("PMIX_RANK") || std::getenv("PMI_RANK");
}

}  // namespace centavo::dist
