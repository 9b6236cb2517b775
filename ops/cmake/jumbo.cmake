# cairn_jumbo(target [bytes]): the .cpp files of one room (folder) are compiled together, up to about 80,000 bytes of
# text (or `bytes`) at a time, so that the headers they share are read and instantiated once (a "unity build"). Names in
# unnamed namespaces are therefore unique within a room. CAIRN_JUMBO=OFF compiles each file by itself, as clang-tidy and
# clangd need it.
option(CAIRN_JUMBO "Compile the files of a room together" ON)

function(cairn_jumbo target)
  if(NOT CAIRN_JUMBO)
    return()
  endif()
  set(bytes_max 80000)
  if(ARGC GREATER 1)
    set(bytes_max ${ARGV1})
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_filename_component(room ${source} DIRECTORY)
    if(IS_ABSOLUTE ${room})
      continue()  # generated: text only
    endif()
    string(MAKE_C_IDENTIFIER ${room} room)
    file(SIZE ${CMAKE_CURRENT_SOURCE_DIR}/${source} bytes)
    list(APPEND rooms ${room})
    list(APPEND files_of_${room} ${source})
    list(APPEND sizes_of_${room} ${bytes})
  endforeach()
  list(REMOVE_DUPLICATES rooms)
  foreach(room IN LISTS rooms)
    set(total 0)
    foreach(bytes IN LISTS sizes_of_${room})
      math(EXPR total "${total} + ${bytes}")
    endforeach()
    math(EXPR share "${total} / (${total} / ${bytes_max} + 1) + 1")  # groups of one size
    set(passed 0)
    foreach(source bytes IN ZIP_LISTS files_of_${room} sizes_of_${room})
      math(EXPR group "(${passed} + ${bytes} / 2) / ${share}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${room}_${group})
      math(EXPR passed "${passed} + ${bytes}")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# cairn_hot(target): g++ inlines less in a unit above some size, which a file seldom has and a room does; here speed
# counts more than the size of the program.
function(cairn_hot target)
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:--param=large-unit-insns=1000000>)
endfunction()
