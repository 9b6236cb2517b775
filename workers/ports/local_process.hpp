// Liveness of other processes on this machine, by the process ids in their session rows. Safe from any thread.
#pragma once

#include <cstdint>
#include <string>

namespace cairn {

// Identifies this boot of this machine and this process namespace: where equal, process ids are comparable. "" if
// unknown.
const std::string& machine_id();

// True if no process of that id runs here any more. A reused process id gives false, never a wrong true.
bool is_gone(std::int64_t pid);

}  // namespace cairn
