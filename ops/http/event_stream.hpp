// A run's events as server-sent events (SSE): `id: SEQ` and the line that `cairn events --json` prints, until the run
// has ended. Safe from any thread.
#pragma once

#include "ops/http/message.hpp"
#include "storage/store.hpp"
#include "workers/client.hpp"

namespace cairn {

// The position of a stream in a run's events.
struct EventCursor {
  RunId run;
  Shard shard = 0;
  std::int64_t after = 0;  // the last event that was sent
  bool raw = false;
};

// The events after the cursor, which moves on. Refuses as event_lines.
Result<ApiStream::Chunk> next_events(Client& client, Store& store, EventCursor& cursor);

}  // namespace cairn
