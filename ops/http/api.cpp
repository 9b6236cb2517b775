#include "ops/http/api.hpp"

#include <algorithm>
#include <map>
#include <spdlog/spdlog.h>

#include "engine/corrupt_history.hpp"
#include "engine/run_json.hpp"
#include "ops/answers/explain_facts.hpp"
#include "ops/answers/graph_formats.hpp"
#include "ops/answers/plan_status.hpp"
#include "ops/answers/queues.hpp"
#include "ops/answers/sessions.hpp"
#include "ops/http/bodies.hpp"
#include "ops/http/client_pool.hpp"
#include "ops/http/event_stream.hpp"
#include "ops/http/metrics.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/service/run_commands.hpp"
#include "storage/postgres/connection.hpp"
#include "storage/postgres/reachable.hpp"

namespace cairn {
namespace {

constexpr std::string_view actor = "api";
constexpr std::string_view json_lines = "application/x-ndjson";
constexpr std::string_view event_stream = "text/event-stream";

// A request on its way through a route's function, with the client that was lent for it.
struct Call {
  const ApiRequest& request;
  std::string name;  // the part of the path that is {run} or {name}
  Opened& opened;
  ClientPool& clients;
  Client& client;
  Store& store() const { return *opened.store; }
  Shard shard(const RunId& run) const { return shard_of(run, opened.store->shards()); }
};

// An answer, or the refusal that becomes one.
class Reply : public Result<ApiAnswer> {
 public:
  Reply(ApiResponse response) : Result(ApiAnswer(std::move(response))) {}
  Reply(ApiStream stream) : Result(ApiAnswer(std::move(stream))) {}
  Reply(Error error) : Result(std::move(error)) {}
};

bool accepts(const ApiRequest& request, std::string_view type) {
  return request.header("accept").find(type) != std::string::npos;
}

// An array, or as the command line does it, one to a line.
ApiResponse list_response(const ApiRequest& request, const std::vector<Json>& lines) {
  if (!accepts(request, json_lines)) return json_response(Json(lines));
  ApiResponse response{200, "", std::string(json_lines)};
  for (const Json& line : lines) response.body += canonical(line) + "\n";
  return response;
}

// Nothing if it broke: the client asks again, after the last event it got.
template <class Next>
std::optional<ApiStream::Chunk> next_chunk(Next&& next) {
  try {
    Result<ApiStream::Chunk> chunk = next();
    if (chunk) return *std::move(chunk);
    spdlog::warn("A stream of the API ends: {}", chunk.error().message);
  } catch (const std::exception& failure) {
    spdlog::warn("A stream of the API ends: {}", failure.what());
  }
  return {};
}

// --- reading ---------------------------------------------------------------------------------------------------------

Reply list_runs(Call& call) {
  std::vector<Json> lines;
  const Result<RunFilter> filter = filter_query(call.request);
  if (!filter) return filter.error();
  for_each_page(call.store(), *filter, [&lines](std::span<const RunRow> page) {
    for (const RunRow& row : page) lines.push_back(run_json(row));
  });
  return list_response(call.request, lines);
}

Reply show_run(Call& call) {
  if (const Status known = only_query(call.request, {"at", "raw"}); !known) return known.error();
  const Result<RunId> run = run_argument(call.name);
  if (!run) return run.error();
  const Result<Moment> at = moment_query(call.request);
  if (!at) return at.error();
  const Result<RunState> state = state_at(call.client, *run, *at);
  if (!state) return state.error();
  const Result<bool> raw = query_flag(call.request, "raw");
  if (!raw) return raw.error();
  Json shown = state_json(*state);
  if (!*raw) shown = call.client.expand_blobs(std::move(shown), call.shard(*run));
  return json_response(shown);
}

Reply show_plan(Call& call) {
  if (const Status known = only_query(call.request, {"at"}); !known) return known.error();
  const Result<RunId> run = run_argument(call.name);
  if (!run) return run.error();
  const Result<Moment> at = moment_query(call.request);
  if (!at) return at.error();
  Result<RunState> state = state_at(call.client, *run, *at);
  if (!state) return state.error();
  if (const Status known = project_plan_status(call.client, *state); !known) return known.error();
  return json_response(call.client.expand_blobs(state_json(*state)["plan"], call.shard(*run)));
}

Reply explain_run(Call& call) {
  if (const Status known = only_query(call.request, {}); !known) return known.error();
  const Result<RunId> run = run_argument(call.name);
  if (!run) return run.error();
  const Result<Explained> seen = read_explained(call.client, call.store(), call.opened.dsn, *run);
  if (!seen) return seen.error();
  return json_response(explained_json(*seen));
}

Reply list_graphs(Call& call) {
  if (const Status known = only_query(call.request, {}); !known) return known.error();
  std::vector<Json> lines;
  for (const GraphRow& row : call.store().graph_names()) lines.push_back(graph_json(row));
  return list_response(call.request, lines);
}

Reply show_graph(Call& call) {
  if (const Status known = only_query(call.request, {"format"}); !known) return known.error();
  const std::string format = query_text(call.request, "format");
  if (!format.empty() && format != "json" && format != "mermaid" && format != "dot" && format != "svg")
    return Error{Code::invalid, "Expected a format json, mermaid, dot or svg, but found \"" + format + "\"."};
  call.client.load_graphs();
  const Result<GraphRef> graph = find_graph(call.client, call.name);
  if (!graph) return graph.error();
  if (format.empty() || format == "json") return json_response(parse_stored((*graph)->text));
  Result<std::string> text = graph_as(**graph, format);
  if (!text) return text.error();
  return ApiResponse{200, *std::move(text), format == "svg" ? "image/svg+xml" : "text/plain; charset=utf-8"};
}

Reply list_queues(Call& call) {
  if (const Status known = only_query(call.request, {}); !known) return known.error();
  std::vector<Json> lines;
  for (const auto& [name, line] : queue_lines(call.store())) lines.push_back(queue_json(name, line));
  return list_response(call.request, lines);
}

Reply list_workers(Call& call) {
  if (const Status known = only_query(call.request, {}); !known) return known.error();
  const TimeUs now_us = call.store().database_time();
  std::vector<Json> lines;
  std::map<SessionId, std::int64_t> held = call.store().held_counts();
  for (const SessionRow& row : call.store().sessions()) lines.push_back(session_json(row, held[row.id], now_us));
  return list_response(call.request, lines);
}

Reply show_metrics(Call& call) {
  return ApiResponse{200, metrics_text(call.store(), call.opened.dsn), "text/plain; version=0.0.4; charset=utf-8"};
}

// The stream outlives the call; each piece is read with whichever client is free.
ApiStream stream_of(const Call& call, const EventCursor& from) {
  ApiStream stream{std::string(event_stream), ": nothing new\n\n", {}};
  stream.next = [&clients = call.clients, &store = call.store(), cursor = from]() mutable {
    return next_chunk([&] { return next_events(*ClientPool::Loan(clients), store, cursor); });
  };
  return stream;
}

// The link from a full page to the next one, relative to itself.
std::string next_page(const EventsWanted& wanted, std::int64_t from) {
  const std::string limit = wanted.limit == events_page ? "" : "&limit=" + std::to_string(wanted.limit);
  return "<?from=" + std::to_string(from) + limit + (wanted.raw ? "&raw=true" : "") + ">; rel=\"next\"";
}

Reply page_of_events(Call& call, const RunId& run, const EventsWanted& wanted) {
  constexpr std::size_t bytes_max = 8 << 20;
  const bool is_array = !accepts(call.request, json_lines);
  ApiResponse page{200, is_array ? "[" : "", std::string(is_array ? "application/json" : json_lines)};
  std::int64_t last = 0;
  std::int32_t count = 0;
  const Status read = for_each_event(call.client, run, call.shard(run), wanted, [&](const Json& line) {
    page.body += (is_array && count > 0 ? "," : "") + canonical(line) + (is_array ? "" : "\n");
    last = line["seq"];
    return ++count < wanted.limit && page.body.size() < bytes_max;
  });
  if (!read) return read.error();
  if (is_array) page.body += "]\n";
  if (count == wanted.limit || page.body.size() >= bytes_max)
    page.headers.emplace_back("Link", next_page(wanted, last + 1));
  return page;
}

Reply show_events(Call& call) {
  const Result<EventsWanted> wanted = events_query(call.request);
  if (!wanted) return wanted.error();
  const Result<RunId> run = run_argument(call.name);
  if (!run) return run.error();
  const Result<bool> follow = query_flag(call.request, "follow");
  if (!follow) return follow.error();
  if (!*follow && !accepts(call.request, event_stream)) return page_of_events(call, *run, *wanted);
  if (const auto none = call.client.events(*run, wanted->after, 1); !none) return none.error();
  const bool is_again = !call.request.header("last-event-id").empty();
  if (is_again && has_ended_by(call.store(), *run, wanted->after)) return ApiResponse{204, "", ""};
  return stream_of(call, {*run, call.shard(*run), wanted->after, wanted->raw});
}

// --- asking ----------------------------------------------------------------------------------------------------------

Reply start_run(Call& call) {
  const Result<StartRequest> request = start_body(call.request);
  if (!request) return request.error();
  Result<StartRun> command = start_command(*request);
  if (!command) return command.error();
  const Result<Started> started = call.client.start(*std::move(command), request->key);
  if (!started) return started.error();
  return json_response({{"run", to_string(started->run)}}, started->existed ? 200 : 201);
}

Reply fork_run(Call& call) {
  const Result<ForkRequest> request = fork_body(call.request);
  if (!request) return request.error();
  const Result<RunId> run = run_argument(call.name);
  if (!run) return run.error();
  Result<ForkOptions> fork = fork_options(call.client, *request);
  if (!fork) return fork.error();
  const Result<Started> started = call.client.fork(*run, *std::move(fork));
  if (!started) return started.error();
  return json_response({{"run", to_string(started->run)}}, 201);
}

Reply answer_question(Call& call) {
  const Result<AnswerRequest> request = answer_body(call.request);
  if (!request) return request.error();
  const Result<RunId> run = run_argument(call.name);
  if (!run) return run.error();
  const Result<std::string> question = question_meant(call.client, *run, request->question);
  if (!question) return question.error();
  const Answer command{*question, request->value, request->by, {}};
  if (const Result<Done> done = call.client.command(*run, command); !done) return done.error();
  return json_response({{"run", call.name}, {"question", *question}});
}

Reply signal_run(Call& call) {
  const Result<SignalRequest> request = signal_body(call.request);
  if (!request) return request.error();
  const Result<RunId> run = run_argument(call.name);
  if (!run) return run.error();
  const SendSignal command{request->name, request->value, request->id};
  if (const Result<Done> done = call.client.command(*run, command); !done) return done.error();
  const Json id = request->id.empty() ? Json(nullptr) : Json(request->id);
  return json_response({{"run", call.name}, {"signal", request->name}, {"id", id}});
}

Reply control(Call& call, const Command& command) {
  const Result<RunId> run = run_argument(call.name);
  if (!run) return run.error();
  const Result<std::string> status = statuses_after(call.client, call.store(), {*run}, command).front();
  if (!status) return status.error();
  return json_response({{"run", call.name}, {"status", *status}});
}

Reply cancel_run(Call& call) {
  const Result<std::string> reason = reason_body(call.request);
  return reason ? control(call, Cancel{*reason}) : reason.error();
}

template <class Asked>
Reply control_run(Call& call) {
  const Status none = no_body(call.request);
  return none ? control(call, Asked{}) : none.error();
}

Reply add_graph(Call& call) {
  const Result<Json> graph = graph_body(call.request);
  if (!graph) return graph.error();
  const Result<GraphRef> added = call.client.add_graph(*graph);
  if (!added) return added.error();
  return json_response({{"name", (*added)->name}, {"version", (*added)->version}}, 201);
}

// --- failures --------------------------------------------------------------------------------------------------------

ApiResponse away_response() {
  return error_response(503, "unavailable", "Expected the database to answer, but it does not; try again.");
}

ApiResponse away(const std::exception& failure) {
  spdlog::warn("The API's database is away: {}", failure.what());
  return away_response();
}

ApiResponse broken(const std::exception& failure) {
  spdlog::error("The API broke: {}", failure.what());
  return error_response(500, "internal", "Expected to answer this, but something broke; the server's log says what.");
}

// The readiness probe, on a connection of its own: it does not wait for a free one.
ApiResponse readiness(const std::string& dsn) {
  const Status answers = probe_database(dsn);
  if (answers) return json_response({{"ready", true}});
  spdlog::warn("The API's database is away: {}", answers.error().message);
  return away_response();
}

// The reply of `work` as an answer; a refusal or an exception becomes one too.
template <class Work>
ApiAnswer guarded(Work&& work) {
  try {
    Reply reply = work();
    return reply ? *std::move(reply) : ApiAnswer(error_response(reply.error()));
  } catch (const StoreUnavailable& failure) {
    return away(failure);
  } catch (const PostgresError& failure) {
    return failure.is_transient() ? away(failure) : broken(failure);
  } catch (const CorruptHistory& fault) {
    return error_response({Code::corrupt, fault.what()});
  } catch (const std::exception& failure) {
    return broken(failure);
  }
}

// --- routes ----------------------------------------------------------------------------------------------------------

// The requirements of a route; each includes the one before it. A route that needs no token also has HEAD.
enum class Needs : std::uint8_t { nothing, probe, client, token };

struct Route {
  std::string_view method;
  std::string_view path;
  Reply (*answer)(Call&);
  Needs needs = Needs::token;
};

constexpr Route routes[] = {
    {"GET", "/healthz", nullptr, Needs::nothing},
    {"GET", "/readyz", nullptr, Needs::probe},
    {"GET", "/metrics", show_metrics, Needs::client},
    {"POST", "/api/v1/runs", start_run},
    {"GET", "/api/v1/runs", list_runs},
    {"GET", "/api/v1/runs/{run}", show_run},
    {"GET", "/api/v1/runs/{run}/plan", show_plan},
    {"GET", "/api/v1/runs/{run}/explain", explain_run},
    {"GET", "/api/v1/runs/{run}/events", show_events},
    {"POST", "/api/v1/runs/{run}/answers", answer_question},
    {"POST", "/api/v1/runs/{run}/signals", signal_run},
    {"POST", "/api/v1/runs/{run}/cancel", cancel_run},
    {"POST", "/api/v1/runs/{run}/pause", control_run<Pause>},
    {"POST", "/api/v1/runs/{run}/resume", control_run<Resume>},
    {"POST", "/api/v1/runs/{run}/retry", control_run<Reopen>},
    {"POST", "/api/v1/runs/{run}/fork", fork_run},
    {"GET", "/api/v1/graphs", list_graphs},
    {"POST", "/api/v1/graphs", add_graph},
    {"GET", "/api/v1/graphs/{name}", show_graph},
    {"GET", "/api/v1/queues", list_queues},
    {"GET", "/api/v1/workers", list_workers},
};

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
  return path.empty();
}

// A request's route, which is resolved once and carried to the thread that answers.
struct Routed {
  const Route* route = nullptr;
  std::string name;     // the part of the path that is {run} or {name}
  std::string allowed;  // the methods of the path
};

Routed route_of(const ApiRequest& request) {
  Routed routed;
  for (const Route& route : routes) {
    std::string name;
    if (!is_at(request, route.path, name)) continue;
    const bool has_head = route.needs != Needs::token;
    routed.allowed += (routed.allowed.empty() ? "" : ", ") + std::string(route.method) + (has_head ? ", HEAD" : "");
    if (route.method != request.method && !(has_head && request.method == "HEAD")) continue;
    routed.route = &route;
    routed.name = std::move(name);
  }
  return routed;
}

ApiResponse method_refusal(const std::string& allowed, const std::string& method) {
  const std::string kind = allowed.find(',') == std::string::npos ? "the method " : "one of the methods ";
  ApiResponse response = error_response(405, "invalid", "Expected " + kind + allowed + ", but found " + method + ".");
  response.headers.emplace_back("Allow", allowed);
  return response;
}

bool has_body(const ApiRequest& request) {
  const std::string length = request.header("content-length");
  return (!length.empty() && length != "0") || !request.header("transfer-encoding").empty();
}

bool is_json(std::string type) {
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.pop_back();
  std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::tolower(c); });
  return type == "application/json";
}

}  // namespace

struct Api::Parts {
  Parts(Opened& opened_of, Guard guard_of, int threads)
      : opened(opened_of), guard(std::move(guard_of)), clients(opened_of, std::string(actor), threads) {}

  ApiAnswer answer(const Routed& routed, const ApiRequest& request) {
    return guarded([&]() -> Reply {
      if (routed.route->needs == Needs::probe) return readiness(opened.dsn);
      const ClientPool::Loan client(clients);
      if (request.method == "POST") (*client).load_graphs();  // another process may have added a version
      Call call{request, routed.name, opened, clients, *client};
      return routed.route->answer(call);
    });
  }

  Opened& opened;
  Guard guard;
  ClientPool clients;
};

Api::Api(Opened& opened, Guard guard, int threads)
    : parts_(std::make_unique<Parts>(opened, std::move(guard), threads)) {}
Api::~Api() = default;

Admission Api::admit(const ApiRequest& request) {
  Routed routed = route_of(request);
  const bool is_open = routed.route != nullptr && routed.route->needs != Needs::token;
  if (std::optional<ApiResponse> refusal = parts_->guard.refusal(request, is_open)) return *std::move(refusal);
  if (routed.allowed.empty())
    return error_response(404, "not_found", "Expected a path of this API, but there is nothing here.");
  if (routed.route == nullptr) return method_refusal(routed.allowed, request.method);
  if (has_body(request) && !is_json(request.header("content-type")))
    return error_response(415, "invalid", "Expected a body as application/json, but it says that it is not.");
  const Needs needs = routed.route->needs;
  if (needs == Needs::nothing) return json_response({{"alive", true}});
  return Admitted{
      needs == Needs::probe ? Lane::probes : Lane::work,
      [this, routed = std::move(routed)](const ApiRequest& whole) { return parts_->answer(routed, whole); }};
}

}  // namespace cairn
