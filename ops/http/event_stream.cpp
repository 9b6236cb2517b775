#include "ops/http/event_stream.hpp"

#include "ops/run_views.hpp"

namespace cairn {
namespace {

constexpr std::int32_t events_at_once = 100;

}  // namespace

Result<ApiStream::Chunk> next_events(Client& client, Store& store, EventCursor& cursor) {
  const std::optional<RunRow> row = store.run(cursor.run);
  if (!row) return ApiStream::Chunk{"", true};
  ApiStream::Chunk chunk;
  if (row->head > cursor.after) {
    const Result<std::vector<Json>> lines =
        event_lines(client, cursor.run, cursor.shard, {cursor.after, events_at_once, cursor.raw});
    if (!lines) return lines.error();
    for (const Json& line : *lines) {
      cursor.after = line["seq"];
      chunk.text += "id: " + std::to_string(cursor.after) + "\ndata: " + canonical(line) + "\n\n";
    }
  }
  chunk.is_last = is_ended(row->status) && row->head <= cursor.after;
  return chunk;
}

}  // namespace cairn
