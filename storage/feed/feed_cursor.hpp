// A position in the feed: in each shard the place of what was read last. Its text is what clients keep and send back;
// to them it means nothing else. It has a mark of the row that each shard was read to, which no other row has: so a
// cursor of a history that the database has lost is known, also once others stand at its positions. Plain values and
// pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/id.hpp"
#include "engine/result.hpp"

namespace cairn {

// An event of the history that was there before a consumer.
struct HistoryPlace {
  RunId run;
  std::int64_t seq = 0;
  friend bool operator==(const HistoryPlace&, const HistoryPlace&) = default;
};

struct FeedPlace {
  std::int64_t position = 0;            // the last row of the feed whose events were all read
  std::int64_t skip = 0;                // how many events of the next row were read too
  std::optional<HistoryPlace> history;  // read last; nothing once all of the history was read
  std::string mark = {};                // of the row at marked_position(); "": not known
  friend bool operator==(const FeedPlace&, const FeedPlace&) = default;
};

// The row that was read last, if only in part.
std::int64_t marked_position(const FeedPlace& place);
// Their marks aside.
bool are_same(const FeedPlace& one, const FeedPlace& other);

// Less was read there than at the other place.
bool is_before(const FeedPlace& one, const FeedPlace& other);

struct FeedCursor {
  std::string consumer;           // its id: a cursor of a removed consumer means nothing to another of the same name
  std::vector<FeedPlace> places;  // by shard
  friend bool operator==(const FeedCursor&, const FeedCursor&) = default;
};

std::string to_text(const FeedCursor& cursor);
// Also a text without marks, of a release before them. Refuses `invalid`: no text of a cursor, or of another number of
// shards.
Result<FeedCursor> parse_feed_cursor(const std::string& text, std::int32_t shards);

}  // namespace cairn
