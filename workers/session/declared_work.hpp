// The work that sessions have declared: their tools and handlers as others may know of them, by their rows
// (SessionRow::declares). Pure functions, safe from any thread.
#pragma once

#include "engine/command.hpp"
#include "engine/graph_check.hpp"
#include "storage/sessions.hpp"

namespace cairn {

// Those that a session does not declare are known by their names alone, and their sub-goals go to the queue "default".
// It declares all of a worker that claims over HTTP, and those of MCP servers.
ToolTable tools_of(const SessionRow& session);

// The handlers of a worker that claims over HTTP, with their labels and schemas; none of another one.
Handlers handlers_of(const SessionRow& session);

}  // namespace cairn
