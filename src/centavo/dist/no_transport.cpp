// Built without MPI: every group has one process.
#include "centavo/base/error.h"
#include "centavo/dist/launcher.h"
#include "centavo/dist/transport.h"

namespace centavo::dist {

std::unique_ptr<Transport> open_transport() {
  if (launcher_size() > 1) {
    throw Error("dist",
                "started as one of {} processes, but this program was built without MPI; install "
                "libopenmpi-dev and build again",
                launcher_size());
  }
  return nullptr;
}

}  // namespace centavo::dist
