// A command of this program run as a process of its own, and the resources it used. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cairn {

struct ProgramUse {
  double seconds = 0;
  double cpu_seconds = 0;
  double peak_memory_mb = 0;
  std::int64_t lines = 0;  // of its stdout
  std::string last_line;
};

// Runs it to its end and reads all that it prints; `environment` is set in it, and it inherits all else. Throws
// std::runtime_error if it does not exit with 0, std::system_error if it cannot be started.
ProgramUse use_program(const std::vector<std::string>& arguments,
                       const std::map<std::string, std::string>& environment);

}  // namespace cairn
