// The feed as a hook reads it: by a consumer of its own, which is made with the hook and goes with it. Plain values and
// functions, safe from any thread where the feed's own calls are.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "storage/feed/feed.hpp"
#include "storage/hooks/hook_rows.hpp"
#include "storage/hooks/stalled_runs.hpp"
#include "workers/hooks/hook.hpp"

namespace cairn {

// The actor of what processes do for hooks by themselves.
inline const std::string hooks_actor = "hooks";

struct HookPage {
  std::vector<FeedEvent> events;
  std::string cursor;     // after them
  bool has_more = false;  // commits after it were there
};

// The calls of the feed, for the hook's own consumer. All throw as the feed does.
struct HookFeed {
  std::function<Status(const FeedConsumer& consumer)> add;
  std::function<Status(const std::string& consumer)> remove;
  std::function<Result<HookPage>(const std::string& consumer, std::int32_t limit)> page;
  std::function<Status(const std::string& consumer, const std::string& cursor)> confirm;
  std::function<StalledAnswer(const StalledQuestion& question, std::int32_t limit)> stalled;
};
HookFeed hook_feed_of(Feed& feed, StalledRuns& stalled);  // REQUIRES: both outlive it

// Makes the hook's consumer from now on, in the place of one that another process has begun. Refuses as Feed::add.
Status make_consumer(const HookFeed& feed, const std::string& hook, const HookDefinition& definition);

// Removes the hook's consumer, if there is one. Refuses as Feed::remove, but not `not_found`.
Status remove_consumer(const HookFeed& feed, const std::string& hook);

// Whether the table has it, and it is not on its way out.
bool is_there(const HookCalls& calls, const std::string& hook);

}  // namespace cairn
