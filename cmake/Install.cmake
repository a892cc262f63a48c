# `cmake --install`: the library, its headers and a package that find_package(centavo) finds.
include(CMakePackageConfigHelpers)
install(TARGETS centavo EXPORT centavo-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS centavo_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY src/centavo DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
install(DIRECTORY data/fleet DESTINATION ${CMAKE_INSTALL_DATADIR}/centavo)
install(EXPORT centavo-targets FILE centavo-targets.cmake NAMESPACE centavo:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/centavo)
configure_package_config_file(cmake/centavo-config.cmake.in ${CMAKE_BINARY_DIR}/centavo-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/centavo)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/centavo-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/centavo-config.cmake ${CMAKE_BINARY_DIR}/centavo-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/centavo)
