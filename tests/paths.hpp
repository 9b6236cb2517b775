// Paths of the sources and the built programs. paths.cpp alone depends on them: the rest is the same in each build.
#pragma once

#include <string>

namespace cairn::testing {

std::string source_dir();
std::string samples();  // real cases next to the project
bool has_samples();     // if not, the tests that need them are skipped
std::string cairn_program();
std::string note_program();  // the tool of the fault tests
std::string crash_worker();
std::string moved_clock();  // a library to preload

}  // namespace cairn::testing
