# cairn_console(target): the console becomes part of `target`, as ops/console/build makes it from ops/console: its
# files, or none where npm is not there or cannot install its packages.
function(cairn_console target)
  set(folder ${CMAKE_SOURCE_DIR}/ops/console)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/src/*)
  set(output ${CMAKE_BINARY_DIR}/embedded/console/console_files.cpp)
  add_custom_command(OUTPUT ${output} COMMAND ${folder}/build ${CMAKE_BINARY_DIR}/embedded/console
                     DEPENDS ${sources} ${CMAKE_SOURCE_DIR}/ops/guide/graph.schema.json ${folder}/build
                             ${folder}/bundle.mjs ${folder}/package-lock.json
                     COMMENT "Building the console" VERBATIM)
  target_sources(${target} PRIVATE ${output})
  set_source_files_properties(${output} PROPERTIES SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
