// The holds of queues as the database saw them: a trigger counts, with each claim, what is held then of its queue and
// of its key. One writer in a transaction; safe from any thread.
#pragma once

#include <cstdint>
#include <string>

namespace cairn::test {

// From now on. REQUIRES: the DSN's login owns the schema.
void note_holds(const std::string& dsn);

struct NotedHolds {
  std::int64_t claims = 0;
  std::int64_t most = 0;         // held at once of the queue
  std::int64_t most_of_key = 0;  // of one of its keys
};
NotedHolds noted_holds(const std::string& dsn, const std::string& queue);

}  // namespace cairn::test
