// The end of a command that has started a run: it prints the run's id, and with --wait executes the run and prints its
// outcome. Used from one thread.
#pragma once

#include <string>

#include "ops/commands/command_options.hpp"
#include "ops/service/database.hpp"

namespace cairn {

struct Waiting {
  bool wait = false;
  bool no_work = false;
};

// --wait, with what the help says of it, --no-work and --tools.
void add_waiting(CommandLine& line, CLI::App& command, const std::string& wait_says, Waiting& waiting);

// The finding of `waiting` is a run that failed, was aborted or was interrupted here.
Exit print_started(Opened& opened, const Settings& settings, const RunId& run, const Waiting& waiting);

}  // namespace cairn
