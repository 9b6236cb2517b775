# Debian packages by CPack, one of each component of `cmake --install`: cairn, libcairn-dev, python3-cairn,
# node-cairn-client. ops/package makes them. Files that ops/package has put into package_files are installed too.
set(package_files ${CMAKE_BINARY_DIR}/package_files)
foreach(package cairn libcairn-dev python3-cairn node-cairn-client)
  install(DIRECTORY ${package_files}/${package}/ DESTINATION . COMPONENT ${package} OPTIONAL USE_SOURCE_PERMISSIONS)
endforeach()
install(DIRECTORY ops/packaging/systemd/ DESTINATION lib/systemd/system COMPONENT cairn
        FILES_MATCHING PATTERN *.service PATTERN *.timer)
install(DIRECTORY workers/clients/python/cairn DESTINATION lib/python3/dist-packages COMPONENT python3-cairn
        FILES_MATCHING PATTERN *.py PATTERN py.typed PATTERN __pycache__ EXCLUDE)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cairn)
set(CPACK_PACKAGE_VENDOR Cairn)
set(CPACK_PACKAGE_CONTACT "The Cairn authors <maintainers@cairn.example>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL cairn libcairn-dev python3-cairn node-cairn-client)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(about "Cairn runs plans that must not be lost: graphs of small steps, of which some
are rules, some ask a language model, some call tools and some ask a person.
Every decision and step is an event in PostgreSQL, and a run's state is the
fold of its events.
.
")

# cairn_package(COMPONENT SECTION SUMMARY TEXT [ARCHITECTURE all] [DEPENDS ...] [RECOMMENDS ...] [SUGGESTS ...])
function(cairn_package component section summary text)
  cmake_parse_arguments(PARSE_ARGV 4 its "" "ARCHITECTURE" "DEPENDS;RECOMMENDS;SUGGESTS")
  string(TOUPPER ${component} name)
  macro(set_field field value)
    set(CPACK_DEBIAN_${name}_${field} "${value}" PARENT_SCOPE)
  endmacro()
  set(CPACK_COMPONENT_${name}_DESCRIPTION "${summary}\n${about}${text}" PARENT_SCOPE)
  set_field(DESCRIPTION "${summary}\n${about}${text}")
  set_field(PACKAGE_NAME ${component})
  set_field(PACKAGE_SECTION ${section})
  foreach(field DEPENDS RECOMMENDS SUGGESTS)
    string(JOIN ", " list ${its_${field}})
    if(list)
      set_field(PACKAGE_${field} "${list}")
    endif()
  endforeach()
  if(its_ARCHITECTURE)
    set_field(PACKAGE_ARCHITECTURE ${its_ARCHITECTURE})
  endif()
endfunction()

cairn_package(cairn database "durable workflow engine for planners"
  "This package has the program, which is workers, API, console and command
line. The embedded database needs the package postgresql-15; without it name
another one."
  RECOMMENDS postgresql-15 SUGGESTS git graphviz less)
set(CPACK_DEBIAN_CAIRN_PACKAGE_SHLIBDEPS ON)
cairn_package(libcairn-dev libdevel "durable workflow engine for planners: C++ library"
  "This package has what programs in C++ are built with: a worker, a client, and\nthe engine in memory for tests."
  DEPENDS libboost-dev "libpqxx-dev (>= 6.4)" libpq-dev nlohmann-json3-dev libspdlog-dev libssl-dev libzstd-dev
          pkg-config prometheus-cpp-dev zlib1g-dev SUGGESTS cairn)
cairn_package(python3-cairn python "durable workflow engine for planners: Python client"
  "This package has a client and a worker for Python; it needs the standard\nlibrary alone, and talks to `cairn serve`."
  ARCHITECTURE all DEPENDS python3:any SUGGESTS cairn)
cairn_package(node-cairn-client javascript "durable workflow engine for planners: JavaScript client"
  "This package has a client and a worker for JavaScript and TypeScript, which\ntalk to `cairn serve`."
  ARCHITECTURE all DEPENDS "nodejs (>= 18)" SUGGESTS cairn)
include(CPack)
