// Queues as list entries. Safe from any thread.
#pragma once

#include <map>
#include <string>

#include "engine/json.hpp"
#include "storage/store.hpp"

namespace cairn {

// A queue with its jobs and its settings; either may be empty.
struct QueueLine {
  QueueRow row;
  QueueSettings settings;
};

// By name. One without jobs whose settings are as if never set is not among them.
std::map<std::string, QueueLine> queue_lines(Store& store);

// {"queue", "ready", "later", "held", "concurrency", "paused", "oldest"}
Json queue_json(const std::string& name, const QueueLine& line);

}  // namespace cairn
