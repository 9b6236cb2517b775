// The feed as JSON, in the one form that the command line and the API show. Pure functions, safe from any thread.
#pragma once

#include "engine/json.hpp"
#include "storage/feed/feed.hpp"

namespace cairn {

// As `cairn events --json --raw` has it, with the graph of the run in "of_graph". An event that only a newer program
// can read has "unreadable", the reason, and its payload as text.
Json feed_line(const FeedEvent& event);
// The end of a page: its "cursor", and how many events before it are "missing", if any.
Json feed_end(const FeedPage& page);
Json consumer_json(const FeedStanding& standing);

}  // namespace cairn
