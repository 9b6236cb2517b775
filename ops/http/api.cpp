#include "ops/http/api.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <spdlog/spdlog.h>

#include "engine/corrupt_history.hpp"
#include "engine/text.hpp"
#include "ops/http/bodies/bodies.hpp"
#include "ops/http/bulk_route.hpp"
#include "ops/http/claim_routes.hpp"
#include "ops/http/console_routes.hpp"
#include "ops/http/description_route.hpp"
#include "ops/http/feed_routes.hpp"
#include "ops/http/graph_routes.hpp"
#include "ops/http/guide_routes.hpp"
#include "ops/http/hook_routes.hpp"
#include "ops/http/mcp_route.hpp"
#include "ops/http/question_route.hpp"
#include "ops/http/read_routes.hpp"
#include "ops/http/record_routes.hpp"
#include "ops/http/report_route.hpp"
#include "ops/http/schedule_routes.hpp"
#include "ops/http/transport/compression.hpp"
#include "ops/http/write_routes.hpp"
#include "ops/service/client_pool.hpp"
#include "storage/clock.hpp"
#include "storage/postgres/connection.hpp"
#include "storage/postgres/reachable.hpp"
#include "workers/ports/log.hpp"
#include "workers/ports/untrusted_text.hpp"
#include "workers/runs/history.hpp"

namespace cairn {
namespace {

// --- failures --------------------------------------------------------------------------------------------------------

ApiResponse away_response() {
  return error_response(503, "unavailable", "Expected the database to answer, but it does not; try again.");
}

ApiResponse away(RareWarning& absence, const std::exception& failure) {
  absence.say(std::string("The API's database is away: ") + failure.what());
  return away_response();
}

// Without its query, which may hold secrets.
std::string path_of(const ApiRequest& request) {
  std::string path;
  for (const std::string& segment : request.segments) path += "/" + segment;
  return readable_line(path, 300);
}

void log_fault(const ApiRequest& request, const std::string& text) {
  log_about(LogLevel::error, text, {{"method", request.method}, {"path", path_of(request)}});
}

ApiResponse broken(const ApiRequest& request, const std::exception& failure) {
  log_fault(request, std::string("The API broke: ") + failure.what());
  return error_response(500, "internal", "Expected to answer this, but something broke; the server's log says what.");
}

// The readiness probe, on a connection of its own: it does not wait for a free one.
ApiResponse readiness(RareWarning& absence, const std::string& dsn) {
  const Status answers = probe_database(dsn);
  if (answers) return json_response({{"ready", true}});
  absence.say("The API's database is away: " + answers.error().message);
  return away_response();
}

// The reply of `work` as an answer; a refusal or an exception becomes one too.
template <class Work>
ApiAnswer guarded(RareWarning& absence, const ApiRequest& request, Work&& work) {
  try {
    RouteReply reply = work();
    if (reply) return *std::move(reply);
    if (reply.error() == no_memory()) return later_response(503, 1, reply.error().message);
    return error_response(reply.error());
  } catch (const std::bad_alloc&) {
    return later_response(503, 1, "Expected memory for this answer, but there is not enough; try again later.");
  } catch (const StoreUnavailable& failure) {
    return away(absence, failure);
  } catch (const PostgresError& failure) {
    return failure.is_transient() ? away(absence, failure) : broken(request, failure);
  } catch (const CorruptHistory& fault) {
    log_fault(request, std::string("The API read a history that is corrupt: ") + fault.what());
    return error_response({Code::corrupt, fault.what()});
  } catch (const std::exception& failure) {
    return broken(request, failure);
  }
}

// Whether something new came of a request: a run, or a start that waits to become one.
bool has_created(const RouteReply& reply) {
  if (!reply) return false;
  if (const auto* later = std::get_if<ApiLater>(&*reply)) return later->is_new;
  const auto* response = std::get_if<ApiResponse>(&*reply);
  return response != nullptr && (response->status == 201 || response->status == 202);
}

// --- routes ----------------------------------------------------------------------------------------------------------

// How a route is answered: at once, in the lane of the probes, or by its function.
// `lags`: its answer may be a little old, so that a replica gives it.
// `document`: its answer is the same for everyone, so that it needs no token.
// `linked`: the token of a link, in the body, is all that is needed.
// `mcp`: its messages become requests to the other routes, each of which asks for its own role.
enum class Kind : std::uint8_t { alive, ready, scraped, document, linked, asked, lags, mcp };

struct Route {
  std::string_view method;
  std::string_view path;
  RouteReply (*answer)(RouteCall&);
  ApiRole role;  // that the caller must have; `alive` and `ready` need none
  Kind kind = Kind::asked;
  bool needs_database = false;  // a store in memory does not do

  bool is_open() const {
    return kind == Kind::alive || kind == Kind::ready || kind == Kind::document || kind == Kind::linked;
  }
  bool has_role() const { return !is_open() && kind != Kind::mcp; }
  // Not logged.
  bool is_probe() const { return kind == Kind::alive || kind == Kind::ready || kind == Kind::scraped; }
  // The same request once more does something once more, and has no id of its own that sets the two apart.
  bool counts_each() const {
    constexpr RouteReply (*each[])(RouteCall&) = {fork_run,  reset_a_run,        retry_run,   command_many_runs,
                                                  make_link, trigger_a_schedule, test_a_hook, resend_of_hook};
    return std::find(std::begin(each), std::end(each), answer) != std::end(each);
  }
  // A GET says by itself which parameters it takes. MCP has its messages in the body, and leaves the address to others.
  bool has_no_query() const {
    return method != "GET" && kind != Kind::mcp && answer != start_run && answer != keep_blob;
  }
  // HEAD is a GET whose answer is sent without its body.
  bool takes(const std::string& asked) const { return method == (asked == "HEAD" ? "GET" : asked); }
};

RouteReply show_index(RouteCall& call);

constexpr Route routes[] = {
    {"GET", "/healthz", nullptr, ApiRole::read, Kind::alive},
    {"GET", "/readyz", nullptr, ApiRole::read, Kind::ready},
    {"GET", "/metrics", show_metrics, ApiRole::read, Kind::scraped, true},
    {"GET", "/", show_console, ApiRole::read, Kind::document},
    {"GET", "/console/{name}", show_console_file, ApiRole::read, Kind::document},
    {"GET", "/llms.txt", show_llms, ApiRole::read, Kind::document},
    {"GET", "/guide/{name}", show_guide, ApiRole::read, Kind::document},
    {"GET", "/guide/{folder}/{name}", show_guide, ApiRole::read, Kind::document},
    {"POST", "/mcp", nullptr, ApiRole::read, Kind::mcp},
    {"GET", "/api/v1", show_index, ApiRole::read},
    {"GET", "/api/v1/", show_index, ApiRole::read},
    {"GET", "/api/v1/openapi.json", show_description, ApiRole::read},
    {"POST", "/api/v1/runs", start_run, ApiRole::run},
    {"GET", "/api/v1/runs", list_runs, ApiRole::read, Kind::lags},
    {"GET", "/api/v1/runs/{run}", show_run, ApiRole::read, Kind::lags},
    {"GET", "/api/v1/runs/{run}/plan", show_plan, ApiRole::read, Kind::lags},
    {"GET", "/api/v1/runs/{run}/explain", explain_run, ApiRole::read},
    {"GET", "/api/v1/runs/{run}/diff", diff_run, ApiRole::read, Kind::lags},
    {"GET", "/api/v1/runs/{run}/verify", verify_run, ApiRole::read, Kind::asked, true},
    {"GET", "/api/v1/runs/{run}/replay", replay_run, ApiRole::read},
    {"POST", "/api/v1/runs/{run}/replay", replay_run_otherwise, ApiRole::operate},
    {"GET", "/api/v1/runs/{run}/blame", blame_run, ApiRole::read, Kind::lags},
    {"GET", "/api/v1/runs/{run}/events", show_events, ApiRole::read, Kind::lags},
    {"GET", "/api/v1/runs/{run}/export", export_run, ApiRole::read, Kind::lags},
    {"POST", "/api/v1/runs/{run}/answers", answer_question, ApiRole::answer},
    {"POST", "/api/v1/runs/{run}/links", make_link, ApiRole::answer, Kind::asked, true},
    {"POST", "/api/v1/links/question", show_linked_question, ApiRole::answer, Kind::linked, true},
    {"POST", "/api/v1/links/answer", answer_by_link, ApiRole::answer, Kind::linked, true},
    {"POST", "/api/v1/runs/{run}/signals", signal_run, ApiRole::answer},
    {"POST", "/api/v1/runs/{run}/cancel", cancel_run, ApiRole::operate},
    {"POST", "/api/v1/runs/{run}/pause", pause_run, ApiRole::operate},
    {"POST", "/api/v1/runs/{run}/resume", resume_run, ApiRole::operate},
    {"POST", "/api/v1/runs/{run}/retry", retry_run, ApiRole::operate},
    {"POST", "/api/v1/bulk", command_many_runs, ApiRole::operate},
    {"POST", "/api/v1/runs/{run}/reset", reset_a_run, ApiRole::operate},
    {"POST", "/api/v1/runs/{run}/move", move_run, ApiRole::operate},
    {"POST", "/api/v1/runs/{run}/fork", fork_run, ApiRole::run},
    {"GET", "/api/v1/graphs", list_graphs, ApiRole::read},
    {"POST", "/api/v1/graphs", add_graph, ApiRole::operate},
    {"POST", "/api/v1/graphs/check", check_a_graph, ApiRole::operate},
    {"GET", "/api/v1/graphs/{name}", show_graph, ApiRole::read},
    {"GET", "/api/v1/questions", list_questions, ApiRole::read},
    {"GET", "/api/v1/views", list_views, ApiRole::read, Kind::asked, true},
    {"POST", "/api/v1/views", save_view, ApiRole::operate, Kind::asked, true},
    {"DELETE", "/api/v1/views/{name}", remove_view, ApiRole::operate, Kind::asked, true},
    {"GET", "/api/v1/report", show_report, ApiRole::read, Kind::lags},
    {"GET", "/api/v1/queues", list_queues, ApiRole::read},
    {"POST", "/api/v1/queues/{name}", change_a_queue, ApiRole::operate},
    {"GET", "/api/v1/queues/{name}/age", show_queue_age, ApiRole::read, Kind::scraped},
    {"GET", "/api/v1/queues/{name}/budgets", budgets_of_queue, ApiRole::read},
    {"GET", "/api/v1/queues/{name}/history", history_of_queue, ApiRole::read},
    {"GET", "/api/v1/starts", list_starts, ApiRole::read},
    {"GET", "/api/v1/workers", list_workers, ApiRole::read},
    {"GET", "/api/v1/workers/{session}", show_worker, ApiRole::read},
    {"GET", "/api/v1/schedules", list_schedules, ApiRole::read, Kind::asked, true},
    {"POST", "/api/v1/schedules", add_schedule_asked, ApiRole::operate, Kind::asked, true},
    {"GET", "/api/v1/schedules/{name}", show_schedule, ApiRole::read, Kind::asked, true},
    {"POST", "/api/v1/schedules/{name}", edit_schedule, ApiRole::operate, Kind::asked, true},
    {"DELETE", "/api/v1/schedules/{name}", remove_schedule, ApiRole::operate, Kind::asked, true},
    {"GET", "/api/v1/schedules/{name}/next", next_of_schedule, ApiRole::read, Kind::asked, true},
    {"GET", "/api/v1/schedules/{name}/history", history_of_schedule, ApiRole::read, Kind::asked, true},
    {"GET", "/api/v1/schedules/{name}/explain", explain_a_schedule, ApiRole::read, Kind::asked, true},
    {"POST", "/api/v1/schedules/{name}/pause", pause_a_schedule, ApiRole::operate, Kind::asked, true},
    {"POST", "/api/v1/schedules/{name}/resume", resume_a_schedule, ApiRole::operate, Kind::asked, true},
    {"POST", "/api/v1/schedules/{name}/trigger", trigger_a_schedule, ApiRole::operate, Kind::asked, true},
    {"POST", "/api/v1/schedules/{name}/backfill", backfill_a_schedule, ApiRole::operate, Kind::asked, true},
    {"GET", "/api/v1/hooks", list_hooks, ApiRole::read, Kind::asked, true},
    {"POST", "/api/v1/hooks", add_hook_asked, ApiRole::admin, Kind::asked, true},
    {"GET", "/api/v1/hooks/{name}", show_hook, ApiRole::read, Kind::asked, true},
    {"POST", "/api/v1/hooks/{name}", edit_hook_asked, ApiRole::admin, Kind::asked, true},
    {"DELETE", "/api/v1/hooks/{name}", remove_hook, ApiRole::admin, Kind::asked, true},
    {"GET", "/api/v1/hooks/{name}/deliveries", deliveries_of_hook, ApiRole::read, Kind::asked, true},
    {"GET", "/api/v1/hooks/{name}/history", history_of_hook, ApiRole::read, Kind::asked, true},
    {"POST", "/api/v1/hooks/{name}/pause", pause_a_hook, ApiRole::operate, Kind::asked, true},
    {"POST", "/api/v1/hooks/{name}/resume", resume_a_hook, ApiRole::operate, Kind::asked, true},
    {"POST", "/api/v1/hooks/{name}/test", test_a_hook, ApiRole::operate, Kind::asked, true},
    {"POST", "/api/v1/hooks/{name}/resend", resend_of_hook, ApiRole::operate, Kind::asked, true},
    {"POST", "/api/v1/hooks/{name}/skip", skip_of_hook, ApiRole::operate, Kind::asked, true},
    {"POST", "/api/v1/claims", ask_for_claims, ApiRole::worker},
    {"POST", "/api/v1/claims/heartbeat", hear_claims, ApiRole::worker},
    {"POST", "/api/v1/claims/{claim}/complete", complete_claim, ApiRole::worker},
    {"POST", "/api/v1/claims/{claim}/fail", fail_claim, ApiRole::worker},
    {"POST", "/api/v1/claims/{claim}/release", release_claim, ApiRole::worker},
    {"GET", "/api/v1/blobs/{hash}", show_blob, ApiRole::worker},
    {"PUT", "/api/v1/blobs/{hash}", keep_blob, ApiRole::worker},
    {"GET", "/api/v1/feed", show_feed, ApiRole::read, Kind::asked, true},
    {"GET", "/api/v1/consumers", list_consumers, ApiRole::read, Kind::asked, true},
    {"POST", "/api/v1/consumers", add_consumer, ApiRole::operate, Kind::asked, true},
    {"POST", "/api/v1/consumers/{name}/confirm", confirm_consumer, ApiRole::read, Kind::asked, true},
    {"DELETE", "/api/v1/consumers/{name}", remove_consumer, ApiRole::operate, Kind::asked, true},
};

// A client that offers its user what may be done reads here what the token allows.
Json caller_json(const Caller& caller) {
  Json roles = Json::array();
  for (const ApiRole role : caller.access.roles) roles.push_back(to_string(role));
  return {{"actor", caller.actor},
          {"roles", std::move(roles)},
          {"all_runs", caller.access.scope.covers_all_runs()},
          {"all_queues", caller.access.scope.queues.empty()}};
}

// This table is what the address of the API shows when it is opened.
RouteReply show_index(RouteCall& call) {
  if (const Status known = only_query(call.request, {}); !known) return known.error();
  Json shown = Json::array();
  for (const Route& route : routes)
    shown.push_back({{"method", route.method},
                     {"path", route.path},
                     {"role", route.has_role() ? Json(to_string(route.role)) : Json(nullptr)}});
  return json_response({{"routes", shown}, {"caller", caller_json(*call.caller)}});
}

// Whether the path is the route's; `name` is what stands for its part in braces.
bool is_at(const ApiRequest& request, std::string_view path, std::string& name) {
  for (const std::string& segment : request.segments) {
    if (path.empty()) return false;
    const std::size_t end = std::min(path.find('/', 1), path.size());
    const std::string_view part = path.substr(1, end - 1);
    const bool is_name = part.starts_with('{') && !segment.empty();
    if (is_name)
      name = segment;
    else if (part != segment)
      return false;
    path.remove_prefix(end);
  }
  return path.empty() || (path == "/" && request.segments.empty());
}

// A request's route, which is resolved once and carried to the thread that answers.
struct Routed {
  const Route* route = nullptr;
  std::string name;     // the part of the path that is {run} or {name}
  std::string allowed;  // the methods of the path; "": it is none of the API's
  bool is_probe = false;
};

Routed route_of(const ApiRequest& request) {
  Routed routed;
  for (const Route& route : routes) {
    std::string name;
    if (!is_at(request, route.path, name)) continue;
    routed.allowed += std::string(route.method) + (route.method == "GET" ? ", HEAD, " : ", ");
    routed.is_probe = route.is_probe();
    if (!route.takes(request.method)) continue;
    routed.route = &route;
    routed.name = std::move(name);
  }
  if (!routed.allowed.empty()) routed.allowed += "OPTIONS";
  return routed;
}

// The answer where the path has no route for the method: OPTIONS asks which ones it has, others are refused.
ApiResponse methods_response(const std::string& allowed, const std::string& method) {
  ApiResponse response{204, "", ""};
  if (method != "OPTIONS")
    response = error_response(405, "invalid", "Expected one of the methods " + allowed + ", but found " + method + ".");
  response.headers.emplace_back("Allow", allowed);
  return response;
}

bool has_body(const ApiRequest& request) {
  const std::string length = request.header("content-length");
  return (!length.empty() && length != "0") || !request.header("transfer-encoding").empty();
}

// A line for each request, without its query and body, which may hold secrets.
void note_request(const ApiRequest& request, const Caller& caller, const ApiAnswer& answer,
                  std::chrono::steady_clock::duration took) {
  if (!is_logged(LogLevel::info)) return;
  const auto* response = std::get_if<ApiResponse>(&answer);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
  log_about(LogLevel::info, "A request was answered.",
            {{"method", request.method},
             {"path", path_of(request)},
             {"status", response == nullptr ? 200 : response->status},
             {"actor", caller.actor},
             {"peer", request.peer},
             {"took_ms", ms}});
}

// Where each request counts the header would promise something else; where the second one changes nothing more, it is
// passed over, as clients send it with every POST.
Status check_key(const Route& route, const ApiRequest& request) {
  if (!route.counts_each() || !request.headers.contains("idempotency-key")) return Done{};
  return bad_request(
      "Expected no Idempotency-Key, but found one: each request counts here. Starts and signals take it.");
}

Status check_query(const Route& route, const ApiRequest& request) {
  return route.has_no_query() ? only_query(request, {}) : Status(Done{});
}

bool is_json(std::string type) {
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.pop_back();
  return lowered(type) == "application/json";
}

}  // namespace

struct Api::Parts : ApiParts {
  using ApiParts::ApiParts;

  ApiAnswer answer(const Routed& routed, const CallerRef& caller, const ApiRequest& request) {
    const auto began = std::chrono::steady_clock::now();
    ApiAnswer given = answer_quietly(routed, caller, request);
    if (auto* response = std::get_if<ApiResponse>(&given))
      *response = compressed_response(request, std::move(*response));
    if (routed.route->is_probe()) return given;
    const auto took = std::chrono::steady_clock::now() - began;
    note_request(request, *caller, given, took);
    count(*routed.route, given, took);
    return given;
  }

  // A wait is counted when it is answered.
  void count(const Route& route, ApiAnswer& given, std::chrono::steady_clock::duration took) {
    requests.add_time(route.method, route.path, took);
    if (auto* later = std::get_if<ApiLater>(&given)) {
      later->begin = [this, &route, begin = std::move(later->begin)](ApiLater::OnAnswer answer) {
        begin([this, &route, answer = std::move(answer)](std::optional<ApiResponse> response) {
          if (response) requests.add(route.method, route.path, response->status);
          answer(std::move(response));
        });
      };
      return;
    }
    const auto* response = std::get_if<ApiResponse>(&given);
    requests.add(route.method, route.path, response == nullptr ? 200 : response->status);
  }

  ApiAnswer answer_quietly(const Routed& routed, const CallerRef& caller, const ApiRequest& request) {
    return guarded(absence, request, [&]() -> RouteReply {
      if (routed.route->kind == Kind::ready)
        return is_in_memory() ? json_response({{"ready", true}}) : readiness(absence, primary.opened.dsn);
      if (const Status there = check_database(*routed.route); !there) return there.error();
      if (const Status passed = check_key(*routed.route, request); !passed) return passed.error();
      if (const Status passed = check_query(*routed.route, request); !passed) return passed.error();
      if (!request.started.empty()) return answer_from(primary, routed, caller, request);
      if (ApiStatus passed = check_bytes(*caller, request); !passed) return std::move(passed).error();
      if (routed.route->kind == Kind::mcp) return speak_mcp(caller, request);
      if (std::optional<RouteReply> old = of_replica(routed, caller, request)) return *std::move(old);
      return counted_answer(routed, caller, request);
    });
  }

  Status check_database(const Route& route) const {
    if (!route.needs_database || !is_in_memory()) return Done{};
    return Error{Code::unsupported, "Expected a database for this, but all is in memory here."};
  }

  // That of the database that takes writes; a new run is taken from the caller's quota.
  RouteReply counted_answer(const Routed& routed, const CallerRef& caller, const ApiRequest& request) {
    if (routed.route->role != ApiRole::run) return answer_from(primary, routed, caller, request);
    if (const auto until_run = quotas.take_run(*caller)) return quota_response(*caller, *until_run);
    TakenRuns taken(quotas, *caller, 1);
    RouteReply reply = answer_from(primary, routed, caller, request);
    if (has_created(reply)) taken.keep(1);
    return reply;
  }

  // A call has started its run by the time that its answer is known to be a stream. One without a place does not wait
  // for the run: a refusal would hide it, and a client that tries again would start another one.
  RouteReply speak_mcp(const CallerRef& caller, const ApiRequest& request) {
    std::shared_ptr<void> place = quotas.take_stream(*caller);
    const McpHostRef host = mcp_host(caller, place == nullptr ? 0 : mcp_wait_ms);
    ApiAnswer answer = answer_mcp(host, waiting_calls, request);
    if (auto* response = std::get_if<ApiResponse>(&answer)) return std::move(*response);
    if (place == nullptr && request.method == "GET")
      return later_response(429, 5, "Expected fewer streams at once of token " + caller->token + ".");
    auto& stream = std::get<ApiStream>(answer);
    stream.next = [this, caller, place, next = std::move(stream.next)]() -> std::optional<ApiStream::Chunk> {
      if (!tokens.knows(*caller)) return {};  // it was revoked
      return next();
    };
    return std::move(stream);
  }

  McpHostRef mcp_host(const CallerRef& caller, std::int64_t wait_ms) {
    auto host = std::make_shared<McpHost>();
    host->caller = caller->actor;
    host->wait_ms = wait_ms;
    host->console_url = console_url;
    host->may = [caller](ApiRole role) { return caller->access.may(role); };
    host->ask = [this, caller](const ApiRequest& request) { return answer_within(caller, request); };
    host->graphs = [this, caller] { return covered_graphs(caller->access.scope); };
    host->follow = [this](const RunId& run) -> McpHost::Head {
      const auto followed = std::make_shared<RunWatch::Follower>(primary.watch.follow(run));
      return [followed] { return followed->head(); };
    };
    return host;
  }

  // The answer to a request that a message of /mcp stands for: as if the caller had sent it.
  ApiResponse answer_within(const CallerRef& caller, const ApiRequest& request) {
    const Routed routed = route_of(request);
    if (routed.route == nullptr)
      return error_response(404, "not_found", "Expected the id of a run or the name of a graph, but there is none.");
    if (!caller->access.may(routed.route->role)) return role_refusal(*caller, routed.route->role);
    if (const Status there = check_database(*routed.route); !there) return error_response(there.error());
    ApiAnswer answer = guarded(absence, request, [&] { return counted_answer(routed, caller, request); });
    if (auto* response = std::get_if<ApiResponse>(&answer)) return std::move(*response);
    return error_response(400, "invalid", "Expected a request that is answered at once, but it waits.");
  }

  std::vector<GraphRef> covered_graphs(const Scope& scope) {
    const ClientPool::Loan client(primary.clients);
    (*client).read_graphs();
    std::vector<GraphRef> covered;
    for (const GraphRow& row : primary.opened.store->graphs().names())
      if (row.current && scope.covers_graph(row.name))
        if (GraphRef graph = (*client).graphs().current(row.name)) covered.push_back(std::move(graph));
    return covered;
  }

  RouteReply answer_from(ApiSide& side, const Routed& routed, const CallerRef& caller, const ApiRequest& request) {
    const ClientPool::Loan client(side.clients);
    (*client).act_as(caller->actor);
    if (request.method == "POST") (*client).load_graphs();  // another process may have added a version
    RouteCall call{request, routed.name, *this, side, caller, *client};
    return routed.route->answer(call);
  }

  // Nothing where the primary is to be asked. A replica refuses what it does not have yet, and it has no progress of
  // steps; one that was away is left alone for a while, since each attempt would cost a request its
  // patience.
  std::optional<RouteReply> of_replica(const Routed& routed, const CallerRef& caller, const ApiRequest& request) {
    ApiSide* const side = replica;
    const bool is_asked =
        side != nullptr && routed.route->kind == Kind::lags && query_text(request, "progress").empty();
    if (!is_asked || steady_us() < replica_again_us) return std::nullopt;
    try {
      RouteReply reply = answer_from(*side, routed, caller, request);
      if (reply) return reply;
    } catch (const StoreUnavailable& failure) {
      leave_replica(failure);
    } catch (const PostgresError& failure) {
      leave_replica(failure);
    }
    return std::nullopt;
  }

  void leave_replica(const std::exception& failure) {
    constexpr std::int64_t left_alone_us = 5'000'000;
    replica_again_us = steady_us() + left_alone_us;
    spdlog::warn("The API's replica is away, the database itself is asked: {}", failure.what());
  }

  // REQUIRES: it was not called before.
  void take_replica(Opened opened) {
    CHECK(replica_side == nullptr);
    replica_side = std::make_unique<ReplicaSide>(std::move(opened), threads,
                                                 [this](const std::exception& failure) { leave_replica(failure); });
    replica = &replica_side->side;
  }

  struct ReplicaSide {
    ReplicaSide(Opened opened_of, int threads_of, RunWatch::OnLost on_lost)
        : opened(std::move(opened_of)), side(opened, threads_of, std::move(on_lost)) {}

    Opened opened;
    ApiSide side;
  };

  std::atomic<std::int64_t> replica_again_us = 0;
  std::unique_ptr<ReplicaSide> replica_side;
  std::atomic<ApiSide*> replica = nullptr;  // of it, once it is there

  ApiStatus check_bytes(const Caller& caller, const ApiRequest& request) {
    const auto seconds = quotas.take_bytes(caller, request.body.size());
    if (!seconds) return Done{};
    return later_response(429, *seconds, "Expected fewer bytes of bodies from token " + caller.token + ".");
  }

  Admission admitted(Routed routed, CallerRef caller) {
    const Kind kind = routed.route->kind;
    if (kind == Kind::alive) return json_response({{"alive", true}});
    return Admitted{kind == Kind::ready ? Lane::probes : Lane::work,
                    [this, routed = std::move(routed), caller = std::move(caller)](const ApiRequest& whole) {
                      return answer(routed, caller, whole);
                    }};
  }

  // The refusals of the head, and the work of what is let in.
  Admission decide(Routed routed, const ApiRequest& request) {
    Guard::Verdict verdict = guard.judge(request, routed.route != nullptr && routed.route->is_open());
    if (auto* refusal = std::get_if<ApiResponse>(&verdict)) return std::move(*refusal);
    if (const auto* delay = std::get_if<ApiDelay>(&verdict)) return *delay;
    CallerRef caller = std::get<CallerRef>(std::move(verdict));
    if (routed.allowed.empty())
      return error_response(404, "not_found", "Expected a path of this API, but there is nothing here.");
    if (routed.route == nullptr) return methods_response(routed.allowed, request.method);
    const Route& route = *routed.route;
    if (route.has_role() && !caller->access.may(route.role)) return role_refusal(*caller, route.role);
    if (has_body(request) && !is_json(request.header("content-type")))
      return error_response(415, "invalid", "Expected a body as application/json, but it says that it is not.");
    const std::string coding = request.header("content-encoding");
    if (has_body(request) && !coding.empty() && lowered(coding) != "identity")
      return error_response(
          415, "invalid", "Expected a body as it is, but its Content-Encoding is " + excerpt(Json(coding), 100) + ".");
    return admitted(std::move(routed), std::move(caller));
  }
};

Api::Api(Opened& opened, TokenBook& tokens, const ApiOptions& options)
    : parts_(std::make_unique<Parts>(opened, tokens, options)) {}
Api::~Api() = default;

void Api::read_from(Opened replica) { parts_->take_replica(std::move(replica)); }

void Api::give_up() {
  parts_->primary.opened.store->give_up();
  if (ApiSide* const side = parts_->replica) side->opened.store->give_up();
}

Admission Api::admit(const ApiRequest& request) {
  Routed routed = route_of(request);
  const std::string_view method = routed.route == nullptr ? no_route : routed.route->method;
  const std::string_view path = routed.route == nullptr ? no_route : routed.route->path;
  const bool is_counted = routed.route == nullptr || !routed.route->is_probe();
  Admission decided = parts_->decide(std::move(routed), request);
  if (const auto* refusal = std::get_if<ApiResponse>(&decided); refusal != nullptr && is_counted)
    parts_->requests.add(method, path, refusal->status);
  return decided;
}

Admission Api::admit_probe(const ApiRequest& request) {
  static const CallerRef probe = std::make_shared<Caller>(Caller{"api", "", {{ApiRole::read}, {}, {}}});
  const Routed routed = route_of(request);
  if (!routed.is_probe)
    return error_response(404, "not_found",
                          "Expected /healthz, /readyz, /metrics or the age of a queue, but found another path.");
  if (routed.route == nullptr) return methods_response(routed.allowed, request.method);
  return parts_->admitted(routed, probe);
}

bool Api::is_waited_for() const { return parts_->primary.watch.has_waits(); }

McpHostRef Api::mcp_host(const CallerRef& caller) { return parts_->mcp_host(caller, parts_->mcp_wait_ms); }

std::vector<RouteShown> api_routes() {
  std::vector<RouteShown> shown;
  for (const Route& route : routes)
    if (route.has_role()) shown.push_back({std::string(route.method), std::string(route.path), route.role});
  return shown;
}

}  // namespace cairn
