// The command line: arguments become commands, refusals become exit codes. One call per process,
// from its main thread.
#pragma once

#include "engine/result.hpp"

namespace cairn {

// What scripts rely on. Whatever cannot be understood as an argument is `usage`, found before anything is opened.
enum ExitCode : int {
  exit_ok = 0,
  exit_finding = 1,  // a run that failed or was aborted, a graph with faults
  exit_usage = 2,
  exit_not_found = 3,
  exit_refused = 4,
  exit_unavailable = 5,
};

// The one table from refusals to exit codes: not_found 3, unavailable 5, all others 4.
ExitCode exit_code(Code code);

// Parses, runs and reports. Answers go to stdout; a refusal is one sentence on stderr and nothing on stdout.
int run_command_line(int argc, const char* const* argv);

}  // namespace cairn
