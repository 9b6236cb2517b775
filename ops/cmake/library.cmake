# The C++ package: `cmake --install` gives the program, and find_package(cairn CONFIG) with cairn::engine (the engine in
# memory, for tests), cairn::client and cairn::worker. Their headers name neither Boost nor libpq; one static library is
# behind all three, of which a program gets what it uses.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(cairn_library STATIC
  ops/library/client.cpp
  ops/library/engine.cpp
  ops/library/http_transport.cpp
  ops/library/own_work.cpp
  ops/library/plain_json.cpp
  ops/library/run_state.cpp
  ops/library/worker.cpp
)
target_include_directories(cairn_library PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/ops/library/include>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(cairn_library PUBLIC nlohmann_json::nlohmann_json PRIVATE cairn_ops)
target_precompile_headers(cairn_library PRIVATE <nlohmann/json.hpp> <map> <string> <vector> <boost/asio.hpp>)

set(exported_libraries cairn_flags cairn_engine cairn_storage cairn_workers cairn_simulation cairn_ops cairn_library)
foreach(door engine client worker)
  add_library(cairn_door_${door} INTERFACE)
  target_link_libraries(cairn_door_${door} INTERFACE cairn_library)
  set_target_properties(cairn_door_${door} PROPERTIES EXPORT_NAME ${door})
  add_library(cairn::${door} ALIAS cairn_door_${door})
  list(APPEND exported_libraries cairn_door_${door})
endforeach()

install(TARGETS cairn RUNTIME COMPONENT cairn)
install(TARGETS ${exported_libraries} EXPORT cairn ARCHIVE COMPONENT libcairn-dev)
install(DIRECTORY ops/library/include/cairn TYPE INCLUDE COMPONENT libcairn-dev FILES_MATCHING PATTERN *.hpp)
set(library_place ${CMAKE_INSTALL_LIBDIR}/cmake/cairn)
install(EXPORT cairn NAMESPACE cairn:: FILE cairnTargets.cmake DESTINATION ${library_place} COMPONENT libcairn-dev)
configure_package_config_file(ops/cmake/cairnConfig.cmake.in ${CMAKE_BINARY_DIR}/cairnConfig.cmake
                              INSTALL_DESTINATION ${library_place})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/cairnConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/cairnConfig.cmake ${CMAKE_BINARY_DIR}/cairnConfigVersion.cmake
        DESTINATION ${library_place} COMPONENT libcairn-dev)
