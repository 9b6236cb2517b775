// Where the sources and the built programs are. Only paths.cpp knows, so that a build elsewhere compiles no test anew.
#pragma once

#include <string>

namespace cairn::testing {

std::string source_dir();
std::string cairn_program();
std::string crash_worker();

}  // namespace cairn::testing
