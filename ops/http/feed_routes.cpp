#include "ops/http/feed_routes.hpp"

#include <algorithm>

#include "ops/answers/feed_lines.hpp"
#include "ops/http/bodies/bodies.hpp"
#include "ops/http/list_page.hpp"
#include "ops/http/streams/event_stream.hpp"
#include "workers/hooks/hook.hpp"

namespace cairn {
namespace {

constexpr std::int32_t streamed_at_once = 500;
constexpr int empty_pages_max = 20;  // read for one piece of a stream

// It lets nothing pass that the scope does not cover.
bool lies_within(const FeedFilter& filter, const Scope& scope) {
  return (scope.graphs.empty() || scope.graphs.contains(filter.graph)) &&
         std::all_of(scope.tags.begin(), scope.tags.end(), [&filter](const auto& tag) {
           const auto found = filter.tags.find(tag.first);
           return found != filter.tags.end() && found->second == tag.second;
         });
}

// Refuses `not_found`: there is no such consumer, or one of events that the caller's scope does not cover.
// Those of hooks are the hooks' own: another place in the feed would leave notices out.
Status check_consumer(const RouteCall& call, const std::string& name) {
  if (is_hook_consumer(name)) return no_such_consumer(name);
  if (call.scope().covers_all_runs()) return Done{};
  const Result<FeedConsumer> found = call.parts.feed.consumer(name);
  if (!found) return found.error();
  if (!lies_within(found->filter, call.scope())) return no_such_consumer(name);
  return Done{};
}

// Makes it one of events that the scope covers.
Status narrow(FeedFilter& filter, const Scope& scope) {
  if (filter.graph.empty() && scope.graphs.size() == 1) filter.graph = *scope.graphs.begin();
  filter.tags.insert(scope.tags.begin(), scope.tags.end());
  if (lies_within(filter, scope)) return Done{};
  return bad_request(
      "Expected a consumer with a graph and tags that the token's scope covers, but it would get events of other "
      "runs.");
}

// Pages of which the filter leaves nothing are read on, some at a time. The client has the cursor after them as well.
Result<ApiStream::Chunk> next_of_feed(Feed& feed, const std::string& name, std::string& cursor) {
  Result<FeedPage> page = feed.page(name, cursor, streamed_at_once);
  for (int n = 1; n < empty_pages_max && page && page->events.empty() && page->has_more; ++n)
    page = feed.page(name, to_text(page->cursor), streamed_at_once);
  if (!page) return page.error();
  cursor = to_text(page->cursor);
  ApiStream::Chunk chunk{.text = {}, .is_last = false, .has_more = page->has_more};
  if (page->events.empty() && page->has_more) chunk.text = "id: " + cursor + "\n\n";
  for (std::size_t at = 0; at < page->events.size(); ++at) {
    const bool is_last = at + 1 == page->events.size();
    chunk.text += stream_event(feed_line(page->events[at]), is_last ? cursor : "");
  }
  return chunk;
}

RouteReply stream_of_feed(const RouteCall& call, const FeedQuery& query) {
  std::shared_ptr<void> place = call.parts.quotas.take_stream(*call.caller);
  if (place == nullptr)
    return later_response(429, 5, "Expected fewer streams at once of token " + call.caller->token + ".");
  ApiStream stream = event_stream_reply();
  stream.next = [&parts = call.parts, caller = call.caller, place = std::move(place), name = query.consumer,
                 cursor = query.after]() mutable -> std::optional<ApiStream::Chunk> {
    if (!parts.tokens.knows(*caller)) return {};  // it was revoked
    return next_chunk([&] { return next_of_feed(parts.feed, name, cursor); });
  };
  return stream;
}

}  // namespace

RouteReply show_feed(RouteCall& call) {
  const Result<FeedQuery> query = feed_query(call.request);
  if (!query) return query.error();
  if (const Status known = check_consumer(call, query->consumer); !known) return known.error();
  Feed& feed = call.parts.feed;
  const Result<FeedPage> page = feed.page(query->consumer, query->after, query->follow ? 1 : query->limit);
  if (!page) return page.error();
  if (query->follow) return stream_of_feed(call, *query);
  Json events = Json::array();
  for (const FeedEvent& event : page->events) events.push_back(feed_line(event));
  return json_response({{"events", std::move(events)}, {"cursor", to_text(page->cursor)}, {"is_last", page->is_last}});
}

RouteReply list_consumers(RouteCall& call) {
  std::vector<KeyedLine> lines;
  for (const FeedStanding& standing : call.parts.feed.consumers())
    if (lies_within(standing.consumer.filter, call.scope()))
      lines.push_back({standing.consumer.name, consumer_json(standing)});
  return page_response(call.request, std::move(lines));
}

RouteReply add_consumer(RouteCall& call) {
  Result<ConsumerRequest> asked = consumer_body(call.request);
  if (!asked) return asked.error();
  if (const Status narrowed = narrow(asked->consumer.filter, call.scope()); !narrowed) return narrowed.error();
  asked->consumer.created_by = call.caller->actor;
  if (const Status added = call.parts.feed.add(asked->consumer, asked->from); !added) return added.error();
  return created_response({{"name", asked->consumer.name}}, "consumers", asked->consumer.name);
}

RouteReply confirm_consumer(RouteCall& call) {
  const Result<std::string> cursor = cursor_body(call.request);
  if (!cursor) return cursor.error();
  if (const Status known = check_consumer(call, call.name); !known) return known.error();
  if (const Status moved = call.parts.feed.confirm(call.name, *cursor); !moved) return moved.error();
  return json_response({{"name", call.name}, {"cursor", *cursor}});
}

RouteReply remove_consumer(RouteCall& call) {
  if (const Status none = no_body(call.request); !none) return none.error();
  if (const Status known = check_consumer(call, call.name); !known) return known.error();
  if (const Status removed = call.parts.feed.remove(call.name); !removed) return removed.error();
  return json_response({{"name", call.name}, {"removed", true}});
}

}  // namespace cairn
