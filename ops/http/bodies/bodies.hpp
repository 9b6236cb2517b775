// Bodies and queries of requests as the values that commands take. Each function refuses `invalid` with one sentence,
// as arguments do; that includes names, keys and tags of more than 1,000 bytes, and more than 100 tags. Safe from any
// thread.
#pragma once

#include <limits>
#include <string>
#include <string_view>

#include "ops/answers/run_json.hpp"
#include "ops/http/bodies/fields.hpp"
#include "ops/http/transport/message.hpp"
#include "ops/requests/requests.hpp"
#include "ops/service/queue_change.hpp"
#include "storage/feed/feed.hpp"

namespace cairn {

// The key may stand in the header Idempotency-Key instead; another one in both is refused.
Result<StartRequest> start_body(const ApiRequest& request);
// Whether the body of a start has "runs": then starts_body() reads it, {"graph", "tags"?, "options"?, "runs":
// [{"input"?, "key"?, "tags"?}, ...]}, 1 to starts_max of them. The sentence of a refusal says which one it is about.
bool has_runs(const ApiRequest& request);
Result<std::vector<StartRequest>> starts_body(const ApiRequest& request);
inline constexpr std::size_t starts_max = 1'000;
Result<ForkRequest> fork_body(const ApiRequest& request);      // without the run
Result<AnswerRequest> answer_body(const ApiRequest& request);  // without the run
Result<SignalRequest> signal_body(const ApiRequest& request);  // without the run; its id may stand in that header, too
Result<ControlRequest> reason_body(const ApiRequest& request, ControlRequest::Kind kind);  // {"reason"?}
Result<ControlRequest> cancel_body(const ApiRequest& request);                             // {"reason"?, "now"?}
Result<ControlRequest> reset_body(const ApiRequest& request);                              // {"to", "reason"?}
// {"graph", "reason"?}; the graph is any JSON, as of graph_body.
struct MoveBody {
  Json graph;
  std::string reason;
};
Result<MoveBody> move_body(const ApiRequest& request);
// Refuses as well a field that its command does not take.
Result<BulkRequest> bulk_body(const ApiRequest& request);
// {"concurrency"?: a number or null, "rate"?: {"n", "per_ms"?, "burst"?} or null, "key"?: a text or null,
// "budgets"?, "key_budgets"?, "reserve"? (budget_arguments.hpp), "key_concurrency"?, "key_rate"?, "weights"?: {KEY: a
// number}, "ageing_ms"?: a number or null, "paused"?,
// "revision"?}; no name.
Result<QueueChange> queue_body(const ApiRequest& request);

// {"graph"?, "handlers"?}, of which there may be none.
struct ReplayRequest {
  std::optional<Json> graph;
  bool handlers = false;
};
Result<ReplayRequest> replay_body(const ApiRequest& request);
Status no_body(const ApiRequest& request);                   // {} or nothing
Result<std::string> cursor_body(const ApiRequest& request);  // {"cursor"}

// {"name", "from"?: "history" | "now", "graph"?, "tags"?, "types"?: [...]}
struct ConsumerRequest {
  FeedConsumer consumer;
  FeedStart from = FeedStart::history;
};
Result<ConsumerRequest> consumer_body(const ApiRequest& request);

Result<Json> graph_body(const ApiRequest& request);  // any JSON; the client checks that it is a graph

Status only_query(const ApiRequest& request, FieldNames known);             // each at most once, except `tag`
std::string query_text(const ApiRequest& request, std::string_view name);   // "": it has none
Result<bool> query_flag(const ApiRequest& request, std::string_view name);  // true or false
struct Between {
  std::int64_t least = 0;
  std::int64_t most = 0;
};
Result<std::int64_t> number_query(const ApiRequest& request, std::string_view name, Between range);  // without: `least`

// The page that is wanted of a list which is read whole.
struct PageWanted {
  std::optional<std::int32_t> limit = {};  // all
  std::string after = {};                  // the cursor of the page before; "": from the beginning
};
Result<PageWanted> page_query(const ApiRequest& request, FieldNames known = {"limit", "after"});

// The part of a history that is wanted, newest first.
inline constexpr std::int32_t history_limit = 100;
struct HistoryPage {
  std::int32_t limit = history_limit;
  std::int64_t before = std::numeric_limits<std::int64_t>::max();  // the end
  bool is_first = true;                                            // without ?before
};
Result<std::int32_t> limit_query(const ApiRequest& request, std::int32_t limit_max);   // without: history_limit
Result<HistoryPage> history_query(const ApiRequest& request, std::int32_t limit_max);  // ?limit, ?before

Result<RunQuery> filter_query(const ApiRequest& request);
// ?consumer=NAME, with after=CURSOR, limit=N and follow=true. A stream is also asked for by Accept, and goes on after
// the header Last-Event-ID.
struct FeedQuery {
  std::string consumer;
  std::string after;
  std::int32_t limit = 1'000;
  bool follow = false;
};
Result<FeedQuery> feed_query(const ApiRequest& request);

Result<Moment> moment_query(const ApiRequest& request);
// Starts at `from`, or after the event in the header Last-Event-ID.
Result<EventsWanted> events_query(const ApiRequest& request);

}  // namespace cairn
