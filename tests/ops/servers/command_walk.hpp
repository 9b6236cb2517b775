// A walk over the commands, as a test of the way to the database rather than of them: each kind of statement is sent
// that way at least once. Not thread-safe.
#pragma once

namespace cairn::program {

// On the database that CAIRN_DSN names, as its owner; it has the schema and no runs.
void walk_commands();

}  // namespace cairn::program
