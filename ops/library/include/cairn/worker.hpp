// A worker of your own: the program `cairn` with your handlers in it. Called once per process, from its main thread.
#pragma once

#include <cairn/handlers.hpp>

namespace cairn::library {

// Without arguments: executes steps until SIGINT or SIGTERM, then drains, as `cairn work` does, in the database that
// CAIRN_DSN or CAIRN_DATA names. With arguments it is the command line of `cairn`, with all its commands and options:
// `mine up` starts everything, `mine graph check FILE` knows your handlers, `mine simulate FILE` calls your rules under
// crashes. Returns the exit code.
int work(const Handlers& handlers, int argc, const char* const* argv);

}  // namespace cairn::library
