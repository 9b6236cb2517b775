// The use that this process makes of the machine, as the system counts it. Safe from any thread.
#pragma once

namespace cairn {

struct ProcessUse {
  double cpu_seconds = 0;
  double memory_bytes = 0;  // resident
  double open_files = 0;
  double started_at = 0;  // seconds since 1970
};

// A number that cannot be read is 0.
ProcessUse process_use();

}  // namespace cairn
