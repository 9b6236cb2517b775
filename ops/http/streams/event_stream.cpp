#include "ops/http/streams/event_stream.hpp"

#include <spdlog/spdlog.h>

#include "ops/answers/run_json.hpp"

namespace cairn {
namespace {

constexpr std::int32_t events_at_once = 100;
constexpr std::size_t bytes_at_once = 1 << 20;  // and the rest of the event that reaches them

void add_progress(Store& store, EventCursor& cursor, std::string& text) {
  cursor.progress.give(store.progress().of(cursor.run), [&text](const ProgressRow& row) {
    text += stream_event(progress_json(row), "", "progress");
    return text.size() < bytes_at_once;
  });
}

}  // namespace

std::string stream_event(const Json& data, std::string_view id, std::string_view type) {
  std::string text;
  if (!id.empty()) text.append("id: ").append(id).append("\n");
  if (!type.empty()) text.append("event: ").append(type).append("\n");
  return text.append("data: ").append(canonical(data)).append("\n\n");  // canonical() is one line
}

ApiStream event_stream_reply() { return {std::string(event_stream), ": nothing new\n\n", {}}; }

bool has_news(const EventCursor& cursor, const std::optional<RunHead>& head) {
  return cursor.shows_progress || !head || head->seq > cursor.after || is_ended(head->status);
}

Result<ApiStream::Chunk> next_events(Client& client, Store& store, EventCursor& cursor, std::optional<RunHead> head) {
  if (!head) return ApiStream::Chunk{"", true};
  ApiStream::Chunk chunk;
  if (head->seq > cursor.after) {
    const EventsWanted wanted{cursor.after, events_at_once, cursor.raw};
    const Status read = for_each_event(client, cursor.run, cursor.shard, wanted, [&](const Json& line) {
      cursor.after = line["seq"];
      chunk.text += stream_event(line, std::to_string(cursor.after));
      return chunk.text.size() < bytes_at_once;
    });
    if (!read) return read.error();
  }
  chunk.is_last = is_ended(head->status) && head->seq <= cursor.after;
  if (cursor.shows_progress && !chunk.is_last && head->seq <= cursor.after) add_progress(store, cursor, chunk.text);
  return chunk;
}

std::optional<ApiStream::Chunk> next_chunk(const std::function<Result<ApiStream::Chunk>()>& next) {
  try {
    Result<ApiStream::Chunk> chunk = next();
    if (chunk) return *std::move(chunk);
    spdlog::warn("A stream of the API ends: {}", chunk.error().message);
  } catch (const std::exception& failure) {
    spdlog::warn("A stream of the API ends: {}", failure.what());
  }
  return {};
}

}  // namespace cairn
