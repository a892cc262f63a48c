# Third-party libraries, all from Debian 12 (scripts/setup.sh installs them).
find_package(fmt 9 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(tomlplusplus 3.3 REQUIRED)
find_package(CURL 7.85 REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Threads REQUIRED)
find_package(hwy 1.0.3 REQUIRED CONFIG)
# Debian's dnnl-config.cmake insists on OpenCL, which nothing here uses: look for the library itself.
find_path(CENTAVO_DNNL_INCLUDE dnnl.hpp REQUIRED)
find_library(CENTAVO_DNNL_LIBRARY dnnl REQUIRED)
# Optional: without it every run has one process. src/centavo/dist is the only user.
find_path(CENTAVO_MPI_INCLUDE mpi.h PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE}/mpi)
find_library(CENTAVO_MPI_LIBRARY mpi PATH_SUFFIXES openmpi/lib)
