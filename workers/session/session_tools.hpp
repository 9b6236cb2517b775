// The tools that a session has, as others may know of them: by its row. Pure function, safe from any thread.
#pragma once

#include "engine/command.hpp"
#include "storage/sessions.hpp"

namespace cairn {

// As a worker that claims over HTTP declares them (SessionRow::declares). Those of other workers are known by their
// names alone, and their sub-goals go to the queue "default".
ToolTable tools_of(const SessionRow& session);

}  // namespace cairn
