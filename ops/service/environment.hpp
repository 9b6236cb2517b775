// Settings from the environment: checked before a command runs, as its arguments are. Not thread-safe.
#pragma once

#include "engine/result.hpp"
#include "ops/requests/requests.hpp"

namespace cairn {

// Opens the log as CAIRN_LOG, CAIRN_LOG_FORM and CAIRN_LOG_FILE say; without CAIRN_LOG stderr gets warnings and errors,
// the file, which is bounded, also what happens to steps and requests. Refuses `invalid`: an unknown level or form.
Status open_log_of_environment();

// Refuses `invalid`: a malformed CAIRN_DSN or CAIRN_CHECKPOINT_MS.
Status check_environment(const Settings& settings);

}  // namespace cairn
