// Processes of this machine, by the ids that other sessions here gave in their rows. Safe from any thread.
#pragma once

#include <cstdint>
#include <string>

namespace cairn {

// Where process ids mean the same: this start of this machine and this namespace of processes. "" if it cannot be told.
const std::string& machine_id();

// No such process runs here any more. A process that took over the id makes the answer no, never a false yes.
bool is_gone(std::int64_t pid);

}  // namespace cairn
