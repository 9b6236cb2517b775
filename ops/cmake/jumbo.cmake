# cairn_jumbo(target [bytes]): the .cpp files of one room (folder) are compiled together, up to about 80,000 bytes of
# text (or `bytes`) at a time, so that the headers they share are read and instantiated once (a "unity build"). Rooms of
# less than a third of that are taken together with the small ones next to them. Names in unnamed namespaces are
# therefore unique within a room, and within small rooms of one folder. CAIRN_JUMBO=OFF compiles each file by itself, as
# clang-tidy and clangd need it.
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
    file(SIZE ${CMAKE_CURRENT_SOURCE_DIR}/${source} bytes)
    list(APPEND rooms ${room})
    list(APPEND files_of_${room} ${source})
    math(EXPR bytes_of_${room} "0${bytes_of_${room}} + ${bytes}")
  endforeach()
  list(REMOVE_DUPLICATES rooms)
  foreach(room IN LISTS rooms)
    math(EXPR small "${bytes_of_${room}} * 3")
    set(pool ${room})
    if(small LESS bytes_max AND room MATCHES "/")
      get_filename_component(folder ${room} DIRECTORY)
      set(pool ${folder}/small)
    endif()
    list(APPEND pools ${pool})
    list(APPEND files_in_${pool} ${files_of_${room}})
    math(EXPR bytes_in_${pool} "0${bytes_in_${pool}} + ${bytes_of_${room}}")
  endforeach()
  list(REMOVE_DUPLICATES pools)
  foreach(pool IN LISTS pools)
    string(MAKE_C_IDENTIFIER ${pool} name)
    math(EXPR share "${bytes_in_${pool}} / (${bytes_in_${pool}} / ${bytes_max} + 1) + 1")  # groups of one size
    set(passed 0)
    foreach(source IN LISTS files_in_${pool})
      file(SIZE ${CMAKE_CURRENT_SOURCE_DIR}/${source} bytes)
      math(EXPR group "(${passed} + ${bytes} / 2) / ${share}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name}_${group})
      math(EXPR passed "${passed} + ${bytes}")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# cairn_hot(target): g++ inlines less in a unit above some size, which a file seldom has and a room does; here speed
# counts more than the size of the program.
function(cairn_hot target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>
                         $<$<CXX_COMPILER_ID:GNU>:--param=large-unit-insns=1000000>)
endfunction()
