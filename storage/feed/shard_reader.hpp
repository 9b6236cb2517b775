// The reading of one shard's feed from a place on: the history that was there before a consumer, then the rows of
// commits. Functions without state: safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "storage/feed/feed_cursor.hpp"
#include "storage/log.hpp"
#include "storage/postgres/placements.hpp"

namespace cairn {

// An event as it lies in the log. The texts are valid during the call that is given it.
struct LoggedEvent {
  RunId run;
  std::string_view graph;  // "" with `tags`: the run's row is gone
  std::string_view tags;   // of the run, a JSON object
  EventRow row;
};
using UseEvent = std::function<void(LoggedEvent)>;

enum class FeedReading : std::uint8_t {
  done,
  removed,  // rows from the place on were removed, as all consumers had confirmed them
  lost      // the row with the place's mark is not there: the database has gone back
};

struct FeedPart {
  FeedReading reading = FeedReading::done;
  std::int64_t missing = 0;  // events that the place passed, whose runs were archived or erased before
};

// Gives `use` at most `limit` events after the place, and not many more than 4 MB of them; the place moves past them.
// If it is not done, `use` got nothing.
// REQUIRES: limit >= 1.
[[nodiscard]] FeedPart read_feed(Placements& placements, Shard shard, std::int32_t limit, FeedPlace& place,
                                 const UseEvent& use);

// No row after this position was removed.
bool has_all_after(Placements& placements, Shard shard, std::int64_t position);

}  // namespace cairn
