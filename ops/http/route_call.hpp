// A request on its way through a route's function: what was asked, by whom, and with what it is answered. Used by one
// thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/http/access/api_options.hpp"
#include "ops/http/access/guard.hpp"
#include "ops/http/access/quota_book.hpp"
#include "ops/http/access/token_book.hpp"
#include "ops/http/mcp_route.hpp"
#include "ops/http/metrics.hpp"
#include "ops/http/streams/run_watch.hpp"
#include "ops/http/transport/message.hpp"
#include "ops/metrics/request_counts.hpp"
#include "ops/service/client_pool.hpp"
#include "ops/service/database.hpp"
#include "ops/service/queue_ages.hpp"
#include "ops/service/rare_warning.hpp"
#include "ops/service/second_try.hpp"
#include "storage/data/link_key.hpp"
#include "storage/data/saved_views.hpp"
#include "storage/feed/feed.hpp"
#include "storage/hooks/hook_table.hpp"
#include "storage/hooks/stalled_runs.hpp"
#include "storage/schedules/schedule_table.hpp"
#include "workers/gateway/gateway_driver.hpp"

namespace cairn {

// An answer, or the refusal that becomes one.
class RouteReply : public Result<ApiAnswer> {
 public:
  RouteReply(ApiResponse response) : Result(ApiAnswer(std::move(response))) {}
  RouteReply(ApiStream stream) : Result(ApiAnswer(std::move(stream))) {}
  RouteReply(ApiLater later) : Result(ApiAnswer(std::move(later))) {}
  RouteReply(Error error) : Result(std::move(error)) {}
};

// A database that calls are answered from: the one that takes writes, or its replica. Safe from any thread.
struct ApiSide {
  // `on_lost`: as RunWatch has it.
  ApiSide(Opened& opened_of, int threads, RunWatch::OnLost on_lost = nullptr)
      : opened(opened_of), clients(opened_of, "api", threads), watch(*opened_of.store, std::move(on_lost)) {}

  Opened& opened;
  ClientPool clients;
  RunWatch watch;
};

GatewayOptions gateway_options(const Store& store);

// The parts that all calls share. Safe from any thread.
struct ApiParts {
  ApiParts(Opened& opened_of, TokenBook& tokens_of, const ApiOptions& options)
      : threads(options.threads),
        primary(opened_of, options.threads),
        tokens(tokens_of),
        graphs(options.graphs),
        mcp_wait_ms(options.mcp_wait_ms),
        console_url(options.console_url),
        guard(tokens_of, options.is_tls),
        feed(opened_of.dsn, opened_of.store->shards(), opened_of.store->identity(),
             {.patience_ms = options.patience_ms}),
        views(opened_of.dsn),
        link_key(opened_of.dsn),
        schedules(opened_of.dsn, opened_of.store->identity(), options.patience_ms),
        hooks(opened_of.dsn, opened_of.store->identity(), options.patience_ms),
        stalled(opened_of.dsn, opened_of.store->shards(), opened_of.store->identity(), options.patience_ms),
        metrics(*opened_of.store, opened_of.dsn, {feed, schedules, hooks}),
        queue_ages(*opened_of.store, opened_of.dsn),
        gateway(*opened_of.store, opened_of.catalogue->tools->table(), gateway_options(*opened_of.store)) {}

  bool is_in_memory() const { return primary.opened.dsn.empty(); }

  const int threads;
  ApiSide primary;
  TokenBook& tokens;
  const GraphLimits graphs;
  const std::int64_t mcp_wait_ms;
  const std::string console_url;
  Guard guard;
  QuotaBook quotas;
  Feed feed;
  SavedViews views;
  LinkKey link_key;
  ScheduleTable schedules;
  HookTable hooks;
  StalledRuns stalled;
  CachedMetrics metrics;
  RequestCounts requests;
  Count reports_refused;  // of workers over HTTP, which came too late
  QueueAges queue_ages;
  GatewayDriver gateway;  // for workers that claim over HTTP
  WaitingCalls waiting_calls;
  RareWarning absence{std::chrono::minutes(1)};  // of the database, which each request and probe finds away
};

struct RouteCall {
  const ApiRequest& request;
  std::string name;  // the part of the path that is {run} or {name}
  ApiParts& parts;
  ApiSide& side;
  CallerRef caller;
  Client& client;  // of that side, lent for this call; it acts as the caller

  Store& store() const { return *side.opened.store; }
  const Scope& scope() const { return caller->access.scope; }
  Shard shard(const RunId& run) const { return shard_of(run, store().shards()); }
};

// The run of that id or, for callers who may see all runs, of the one that begins so. Refuses as run_meant.
Result<RunId> run_named(const RouteCall& call, const std::string& text);
// The id in the path. Refuses `not_found`: it is none, or the caller's scope does not cover the run, as if there were
// no such run.
Result<RunId> run_of(const RouteCall& call);
Status check_run(const RouteCall& call, const RunId& run);

// Refuses `conflict`: the graph names a queue that the scope does not cover.
Status queues_in_scope(const Scope& scope, const Graph& graph);

// Holds each fork to the caller's scope, and takes it from the quota of runs, as POST /fork does. REQUIRES: the call
// outlives it.
class ForksOfCaller {
 public:
  explicit ForksOfCaller(const RouteCall& call) : call_(call) {}

  // REQUIRES: this outlives it.
  MayFork may_fork() {
    return [this](const RunState& origin) { return check(origin); };
  }
  // The answer to the last fork that was refused; Done: none was.
  ApiStatus& answer() { return answer_; }

 private:
  Status check(const RunState& origin);

  const RouteCall& call_;
  ApiStatus answer_ = Done{};
};
// 429, with when to come again.
ApiResponse quota_response(const Caller& caller, std::int64_t until_run);

// 403 for a caller whose scope does not cover all runs; `which` goes on after "without a scope".
ApiStatus check_scope(const RouteCall& call, const std::string& which);
// Also for one whose scope has queues alone.
ApiStatus check_any_scope(const RouteCall& call, const std::string& which);
// As they are for a caller who may not see all runs: without the keys that weights are of, which are of anybody's
// inputs.
Json limits_seen(const RouteCall& call, Json limits);

// 403, as for a caller without the role.
ApiResponse forbidden_response(const std::string& message);
ApiResponse role_refusal(const Caller& caller, ApiRole role);

bool accepts(const ApiRequest& request, std::string_view type);
inline constexpr std::string_view json_lines = "application/x-ndjson";
// An array, or as the command line does it, one to a line. Refuses `limit`: more than answer_bytes_max.
RouteReply list_response(const ApiRequest& request, const std::vector<Json>& lines);

}  // namespace cairn
