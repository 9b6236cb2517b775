// Parts of what is asked about the feed, from texts. Each function refuses `invalid` with one sentence. Pure functions,
// safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "engine/result.hpp"
#include "storage/feed/feed.hpp"

namespace cairn {

inline constexpr std::int32_t feed_page_max = 10'000;  // events

// Letters, digits and ".-_@", at most 64; none that begins with "hook@", as those of hooks do.
Result<std::string> consumer_name_argument(const std::string& text);
// Names of event types, as `cairn events` shows them.
Result<std::vector<std::string>> event_types_argument(const std::vector<std::string>& texts);
// "history" or "now".
Result<FeedStart> feed_start_argument(const std::string& text);

}  // namespace cairn
