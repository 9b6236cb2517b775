#include "workers/hooks/hook_feed.hpp"

#include <algorithm>
#include <utility>

#include "workers/hooks/hook_rules.hpp"

namespace cairn {

HookFeed hook_feed_of(Feed& feed, StalledRuns& stalled) {
  return {[&feed](const FeedConsumer& consumer) { return feed.add(consumer, FeedStart::now); },
          [&feed](const std::string& consumer) { return feed.remove(consumer); },
          [&feed](const std::string& consumer, std::int32_t limit) -> Result<HookPage> {
            Result<FeedPage> page = feed.page(consumer, "", limit);
            if (!page) return page.error();
            return HookPage{std::move(page->events), to_text(page->cursor), page->has_more};
          },
          [&feed](const std::string& consumer, const std::string& cursor) { return feed.confirm(consumer, cursor); },
          [&stalled](const StalledQuestion& question, std::int32_t limit) { return stalled.search(question, limit); }};
}

Status make_consumer(const HookFeed& feed, const std::string& hook, const HookDefinition& definition) {
  std::vector<std::string> types = event_types_of(definition);
  if (types.empty()) return Done{};
  FeedConsumer consumer;
  consumer.name = hook_consumer(hook);
  consumer.filter = {definition.graph, definition.tags, std::move(types)};
  consumer.created_by = hooks_actor;
  if (const Status removed = remove_consumer(feed, hook); !removed) return removed;
  return feed.add(consumer);
}

Status remove_consumer(const HookFeed& feed, const std::string& hook) {
  const Status removed = feed.remove(hook_consumer(hook));
  return removed || removed.error().code == Code::not_found ? Status(Done{}) : removed;
}

bool is_there(const HookCalls& calls, const std::string& hook) {
  const std::vector<HookRow> all = calls.hooks();
  return std::any_of(all.begin(), all.end(), [&hook](const HookRow& row) { return row.name == hook; });
}

}  // namespace cairn
