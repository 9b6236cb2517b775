#include "ops/http/feed_routes.hpp"

#include <algorithm>
#include <map>

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

// A caller that reads the events of a consumer.
struct FeedReader {
  Feed& feed;
  Store& store;
  CallerRef caller;
  std::string name;        // of the consumer
  bool is_scoped = false;  // it gets those alone that its scope covers
};

// A run whose row is gone is covered by no scope.
bool covers(const FeedReader& reader, const FeedEvent& event, std::map<RunId, bool>& known) {
  const Scope& scope = reader.caller->access.scope;
  if (scope.covers_all_runs()) return true;
  if (event.graph.empty() || !scope.covers_graph(event.graph)) return false;
  if (scope.tags.empty()) return true;
  const auto [run, is_new] = known.try_emplace(event.run, false);
  if (!is_new) return run->second;
  const std::optional<RunRow> row = reader.store.run(event.run);
  return run->second = row && scope.covers(*row);
}

Result<FeedPage> read_page(const FeedReader& reader, const std::string& cursor, std::int32_t limit) {
  Result<FeedPage> page = reader.feed.page(reader.name, cursor, limit);
  std::map<RunId, bool> known;
  if (page && reader.is_scoped) {
    std::erase_if(page->events, [&](const FeedEvent& event) { return !covers(reader, event, known); });
    page->missing = 0;  // of runs of which nothing says who may know of them
  }
  return page;
}

bool gives_everything(const FeedConsumer& consumer) {
  const FeedFilter& filter = consumer.filter;
  return filter.graph.empty() && filter.tags.empty() && filter.types.empty() && !is_hook_consumer(consumer.name);
}

// A consumer of everything, whose place is how far back the feed is kept; a cursor stays with its own. Refuses
// `not_found`, `invalid`.
Result<std::string> consumer_of_everything(const RouteCall& call, const std::string& cursor) {
  std::string id;
  if (!cursor.empty()) {
    const Result<FeedCursor> parsed = parse_feed_cursor(cursor, call.store().shards());
    if (!parsed) return parsed.error();
    id = parsed->consumer;
  }
  for (const FeedStanding& standing : call.parts.feed.consumers())
    if (gives_everything(standing.consumer) && (id.empty() || standing.consumer.id == id))
      return standing.consumer.name;
  return Error{Code::not_found,
               "Expected a consumer of everything, along which a token reads what it may see, but there is none" +
                   std::string(id.empty() ? "" : " of this cursor") +
                   ": POST /api/v1/consumers without a filter makes one."};
}

// Pages of which the filter leaves nothing are read on, some at a time. The client has the cursor after them as well.
Result<ApiStream::Chunk> next_of_feed(const FeedReader& reader, std::string& cursor) {
  Result<FeedPage> page = read_page(reader, cursor, streamed_at_once);
  for (int n = 1; n < empty_pages_max && page && page->events.empty() && page->has_more; ++n)
    page = read_page(reader, to_text(page->cursor), streamed_at_once);
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

RouteReply stream_of_feed(const RouteCall& call, FeedReader reader, const std::string& after) {
  std::shared_ptr<void> place = call.parts.quotas.take_stream(*call.caller);
  if (place == nullptr)
    return later_response(429, 5, "Expected fewer streams at once of token " + call.caller->token + ".");
  ApiStream stream = event_stream_reply();
  stream.next = [&parts = call.parts, reader = std::move(reader), place = std::move(place),
                 cursor = after]() mutable -> std::optional<ApiStream::Chunk> {
    if (!parts.tokens.knows(*reader.caller)) return {};  // it was revoked
    return next_chunk([&] { return next_of_feed(reader, cursor); });
  };
  return stream;
}

}  // namespace

RouteReply show_feed(RouteCall& call) {
  const Result<FeedQuery> query = feed_query(call.request);
  if (!query) return query.error();
  const bool is_named = !query->consumer.empty();
  if (is_named)
    if (const Status known = check_consumer(call, query->consumer); !known) return known.error();
  Result<std::string> name = is_named ? query->consumer : consumer_of_everything(call, query->after);
  if (!name) return name.error();
  FeedReader reader{call.parts.feed, call.store(), call.caller, *std::move(name), !is_named};
  const Result<FeedPage> page = read_page(reader, query->after, query->follow ? 1 : query->limit);
  if (!page) return page.error();
  if (query->follow) return stream_of_feed(call, std::move(reader), query->after);
  Json events = Json::array();
  for (const FeedEvent& event : page->events) events.push_back(feed_line(event));
  Json answer = feed_end(*page);
  answer["events"] = std::move(events);
  answer["is_last"] = page->is_last;
  return json_response(answer);
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
