// A port of the loopback for a server that is started, ended and started again: below those that the system gives to
// connections, so that none takes it meanwhile. Safe from any thread.
#pragma once

#include <string>

namespace cairn::program {

std::string free_port();

}  // namespace cairn::program
