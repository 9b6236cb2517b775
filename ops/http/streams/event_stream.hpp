// A run's events as server-sent events (SSE): `id: SEQ` and the line that `cairn events --json` prints, until the run
// has ended. Where it is asked for, the progress of open steps stands in between: `event: progress`, which consumers
// that do not listen for it never see, and no id, so that a consumer goes on after the last event that it saw. Safe
// from any thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "ops/answers/step_progress.hpp"
#include "ops/http/transport/message.hpp"
#include "storage/store.hpp"
#include "workers/client.hpp"

namespace cairn {

inline constexpr std::string_view event_stream = "text/event-stream";

// An event of a stream as bytes; `id` and `type` are left out where they are "". A client resumes after the last id
// that it saw, and one that does not listen for a type never sees its events.
std::string stream_event(const Json& data, std::string_view id = {}, std::string_view type = {});
// A stream without its source: it is kept alive by comments.
ApiStream event_stream_reply();

// The position of a stream in a run's events.
struct EventCursor {
  RunId run;
  Shard shard = 0;
  std::int64_t after = 0;  // the last event that was sent
  bool raw = false;
  bool shows_progress = false;  // between events, once all that there are have been sent
  ProgressNews progress = {};
};

// The events after the cursor, which moves on. `head`: how far the run is; nothing: there is none. Refuses as
// event_lines.
Result<ApiStream::Chunk> next_events(Client& client, Store& store, EventCursor& cursor, std::optional<RunHead> head);
// False: that would find nothing new.
bool has_news(const EventCursor& cursor, const std::optional<RunHead>& head);

// The chunk that `next` gives; nothing if it refused or threw, which is logged: the client asks again, after the last
// event it got.
std::optional<ApiStream::Chunk> next_chunk(const std::function<Result<ApiStream::Chunk>()>& next);

}  // namespace cairn
