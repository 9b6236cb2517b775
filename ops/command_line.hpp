// The command line: parses the arguments, runs the command that they choose, and turns refusals into exit codes. Called
// once per process, from its main thread.
#pragma once

#include <memory>

namespace cairn {

struct OwnWork;

// Answers go to stdout; a refusal is one sentence on stderr and nothing on stdout. The exit code is one of
// exit_code.hpp.
// `own`: what the program brings along; null: nothing.
int run_command_line(int argc, const char* const* argv, std::shared_ptr<const OwnWork> own = nullptr);

}  // namespace cairn
