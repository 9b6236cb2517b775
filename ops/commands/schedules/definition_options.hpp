// The options that say what a schedule is, as the fields of its JSON (engine/schedule.hpp). Used from one thread,
// before and while the command line is parsed.
#pragma once

#include "engine/json.hpp"

namespace CLI {
class App;
}

namespace cairn {

// --cron, --every, --phase, --zone, --dst, --exclude, --jitter, --begins, --ends.
void add_time_options(CLI::App& command, Json& fields);
// --graph, --input, --tag, --overlap, --catch-up.
void add_run_options(CLI::App& command, Json& fields);

}  // namespace cairn
