// A run's events as server-sent events: `id: SEQ` and the line that `cairn events --json` prints, from one event on
// until nothing more can come. Safe from any thread.
#pragma once

#include "ops/http/message.hpp"
#include "storage/store.hpp"
#include "workers/client.hpp"

namespace cairn {

// Where a stream of a run's events stands.
struct EventCursor {
  RunId run;
  Shard shard = 0;
  std::int64_t after = 0;  // the last event that was told
  bool raw = false;
};

// What has come since; the cursor moves on. Refuses as event_lines.
Result<ApiStream::Chunk> next_events(Client& client, Store& store, EventCursor& cursor);

}  // namespace cairn
