// Exit codes, on which scripts rely. Safe from any thread.
#pragma once

#include "engine/result.hpp"

namespace cairn {

// An argument that cannot be understood is `usage`; it is found before a database is opened.
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

// The outcome of a command: its exit code, or the refusal that the command line reports.
using Exit = Result<ExitCode>;

}  // namespace cairn
