# cairn_build_facts(target): `target` has cairn::build_facts() (ops/service/build_facts.hpp). The day of the release is
# that of the newest heading with a version in ops/CHANGELOG.md, which must be of the project's version.
function(cairn_build_facts target)
  set(changelog ${CMAKE_SOURCE_DIR}/ops/CHANGELOG.md)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${changelog})
  file(STRINGS ${changelog} headings REGEX "^## [0-9]" LIMIT_COUNT 1)
  if(NOT headings MATCHES "^## ([0-9.]+), ([0-9]+-[0-9]+-[0-9]+)$" OR NOT CMAKE_MATCH_1 STREQUAL PROJECT_VERSION)
    message(FATAL_ERROR "Expected the newest heading of ops/CHANGELOG.md as \"## ${PROJECT_VERSION}, YYYY-MM-DD\", "
                        "but found \"${headings}\".")
  endif()
  set(output ${CMAKE_BINARY_DIR}/embedded/build_facts.cpp)
  add_custom_target(${target}_build_facts
    COMMAND ${CMAKE_COMMAND} -D OUTPUT=${output} -D SOURCES=${CMAKE_SOURCE_DIR} -D VERSION=${PROJECT_VERSION}
            -D RELEASED=${CMAKE_MATCH_2} -D BUILD_TYPE=${CMAKE_BUILD_TYPE}
            -D "COMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
            -P ${CMAKE_SOURCE_DIR}/ops/cmake/write_build_facts.cmake
    BYPRODUCTS ${output} COMMENT "Looking for the commit" VERBATIM)
  target_sources(${target} PRIVATE ${output})
  set_source_files_properties(${output} PROPERTIES GENERATED ON SKIP_PRECOMPILE_HEADERS ON
                              SKIP_UNITY_BUILD_INCLUSION ON)
  add_dependencies(${target} ${target}_build_facts)
endfunction()
