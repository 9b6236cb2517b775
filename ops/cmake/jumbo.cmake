# cairn_jumbo(target [files]): the .cpp files of one room (folder) are compiled together, at most eight (or `files`) at
# a time, so that the headers they share are read and instantiated once (a "unity build"). Names in unnamed namespaces
# are therefore unique within a room. CAIRN_JUMBO=OFF compiles each file by itself, as clang-tidy and clangd need it.
option(CAIRN_JUMBO "Compile the files of a room together" ON)

function(cairn_jumbo target)
  if(NOT CAIRN_JUMBO)
    return()
  endif()
  set(files_max 8)
  if(ARGC GREATER 1)
    set(files_max ${ARGV1})
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_filename_component(room ${source} DIRECTORY)
    if(IS_ABSOLUTE ${room})
      continue()  # generated: text only
    endif()
    string(MAKE_C_IDENTIFIER ${room} room)
    list(APPEND rooms ${room})
    list(APPEND files_of_${room} ${source})
  endforeach()
  list(REMOVE_DUPLICATES rooms)
  foreach(room IN LISTS rooms)
    list(LENGTH files_of_${room} count)
    math(EXPR groups "(${count} + ${files_max} - 1) / ${files_max}")
    math(EXPR size "(${count} + ${groups} - 1) / ${groups}")
    set(at 0)
    foreach(source IN LISTS files_of_${room})
      math(EXPR group "${at} / ${size}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${room}_${group})
      math(EXPR at "${at} + 1")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# cairn_hot(target): g++ inlines less in a unit above some size, which a file seldom has and a room does; here speed
# counts more than the size of the program.
function(cairn_hot target)
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:--param=large-unit-insns=1000000>)
endfunction()
