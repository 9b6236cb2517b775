# cairn_embed(target function folder [pattern]): every file under `folder`, or those of the pattern, becomes part of
# `target`, which then has `std::span<const cairn::EmbeddedFile> cairn::function()` (in engine/embedded.hpp), in the
# order of names.
function(cairn_embed target function folder)
  set(pattern *)
  if(ARGC GREATER 3)
    set(pattern ${ARGV3})
  endif()
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/${folder}
       ${CMAKE_SOURCE_DIR}/${folder}/${pattern})
  list(SORT files)
  set(rows "")
  foreach(file IN LISTS files)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/${file})
    file(READ ${CMAKE_SOURCE_DIR}/${folder}/${file} text)
    string(APPEND rows "    {\"${file}\", R\"~embed~(${text})~embed~\"sv},\n")
  endforeach()
  set(source "#include \"engine/embedded.hpp\"\n\n#include <array>\n\nnamespace cairn {\nnamespace {\n\n")
  string(APPEND source "using namespace std::string_view_literals;\n")  # which know their length
  string(APPEND source "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n")  # of 64 KiB
  string(APPEND source "constexpr EmbeddedFile files[] = {\n${rows}    {\"\", \"\"}};\n}  // namespace\n\n")
  string(APPEND source "std::span<const EmbeddedFile> ${function}() {\n")
  string(APPEND source "  return std::span<const EmbeddedFile>(files).first(std::size(files) - 1);\n}\n\n")
  string(APPEND source "}  // namespace cairn\n")
  set(output ${CMAKE_BINARY_DIR}/embedded/${function}.cpp)
  set(before "")
  if(EXISTS ${output})
    file(READ ${output} before)
  endif()
  if(NOT before STREQUAL source)
    file(WRITE ${output} "${source}")
  endif()
  target_sources(${target} PRIVATE ${output})
endfunction()

# cairn_embed_program(target function program): the program's bytes become part of `target`, which then has
# `std::string_view cairn::function()`.
function(cairn_embed_program target function program)
  string(JOIN "\n" source
    "#include <string_view>"
    "__asm__(\".section .rodata\\n.global ${function}_begin\\n.global ${function}_end\\n\""
    "        \"${function}_begin:\\n.incbin \\\"$<TARGET_FILE:${program}>\\\"\\n\""
    "        \"${function}_end:\\n.previous\\n\")$<SEMICOLON>"
    "extern \"C\" const char ${function}_begin[], ${function}_end[]$<SEMICOLON>"
    "namespace cairn {"
    "std::string_view ${function}()$<SEMICOLON>"
    "std::string_view ${function}() { return {${function}_begin, ${function}_end}$<SEMICOLON> }"
    "}  // namespace cairn"
    "")
  set(output ${CMAKE_BINARY_DIR}/embedded/${function}.cpp)
  file(GENERATE OUTPUT ${output} CONTENT "${source}")
  target_sources(${target} PRIVATE ${output})
  set_source_files_properties(${output} PROPERTIES OBJECT_DEPENDS ${CMAKE_BINARY_DIR}/${program}
                              SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
  add_dependencies(${target} ${program})
endfunction()
