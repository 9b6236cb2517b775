// A sample of what a process holds at this moment. Safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <sys/types.h>

namespace cairn {

struct ProcessSample {
  double memory_mb = 0;  // resident
  std::int64_t descriptors = 0;
  std::int64_t threads = 0;
};

// Nothing if there is no such process, or it is another user's.
std::optional<ProcessSample> sample_process(pid_t pid);

}  // namespace cairn
