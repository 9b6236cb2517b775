// A history that is altered behind the engine's back, in each way that an owner of the database can: `verify` finds
// each and names its run, and finds nothing once it is undone. Not thread-safe.
#pragma once

#include <string>

#include "tests/faults/load.hpp"

namespace cairn::program {

// How many alterations were made. REQUIRES: at least five runs, ended and signed or about to be signed by workers.
int tamper_and_verify(Load& load, const std::string& dsn);

}  // namespace cairn::program
