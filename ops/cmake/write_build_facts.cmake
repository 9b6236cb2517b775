# Run by the build: writes OUTPUT, the source of cairn::build_facts(), if it would differ. The commit is CAIRN_COMMIT of
# the environment where there is no repository, as in the build of an image.
set(commit "$ENV{CAIRN_COMMIT}")
if(commit STREQUAL "")
  execute_process(COMMAND git -C ${SOURCES} rev-parse --verify HEAD OUTPUT_VARIABLE commit ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE fault)
  execute_process(COMMAND git -C ${SOURCES} diff --quiet HEAD ERROR_QUIET OUTPUT_QUIET RESULT_VARIABLE changed)
  if(NOT fault EQUAL 0)
    set(commit "")
  elseif(NOT changed EQUAL 0)
    string(APPEND commit "+")
  endif()
endif()
string(JOIN "\n" source
  "#include \"ops/service/build_facts.hpp\""
  ""
  "cairn::BuildFacts cairn::build_facts() {"
  "  return {\"${VERSION}\", \"${RELEASED}\", \"${commit}\", \"${BUILD_TYPE}\", \"${COMPILER}\"};"
  "}"
  "")
set(before "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT before STREQUAL source)
  file(WRITE ${OUTPUT} "${source}")
endif()
