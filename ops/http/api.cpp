#include "ops/http/api.hpp"

#include <CLI/CLI.hpp>
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
#include "ops/http/clients.hpp"
#include "ops/http/event_stream.hpp"
#include "ops/http/metrics.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/run_asks.hpp"
#include "ops/terminal/print.hpp"
#include "storage/postgres/connection.hpp"
#include "storage/postgres/reachable.hpp"

namespace cairn {
namespace {

constexpr std::string_view actor = "api";
constexpr std::string_view json_lines = "application/x-ndjson";
constexpr std::string_view event_stream = "text/event-stream";

// What a request is answered with.
struct Call {
  const ApiRequest& request;
  std::string name;  // the part of the path that is {run} or {name}
  Opened& opened;
  Clients& clients;
  Client& client;
  Store& store() const { return *opened.store; }
  Shard shard(const RunId& run) const { return shard_of(run, opened.store->shards()); }
};

using Said = std::variant<ApiResponse, ApiStream, Error>;

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

// Nothing if it broke: the client asks again, behind the last event it got.
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

Said list_runs(Call& call) {
  std::vector<Json> lines;
  for_each_page(call.store(), filter_query(call.request), [&lines](std::span<const RunRow> page) {
    for (const RunRow& row : page) lines.push_back(run_json(row));
  });
  return list_response(call.request, lines);
}

Said show_run(Call& call) {
  only_query(call.request, {"at", "raw"});
  const Result<RunId> run = run_argument(call.name);
  if (!run) return run.error();
  const Result<RunState> state = state_at(call.client, *run, moment_query(call.request));
  if (!state) return state.error();
  Json shown = state_json(*state);
  if (!query_flag(call.request, "raw")) shown = call.client.expand_blobs(std::move(shown), call.shard(*run));
  return json_response(shown);
}

Said show_plan(Call& call) {
  only_query(call.request, {"at"});
  const Result<RunId> run = run_argument(call.name);
  if (!run) return run.error();
  Result<RunState> state = state_at(call.client, *run, moment_query(call.request));
  if (!state) return state.error();
  if (const Status told = project_plan_status(call.client, *state); !told) return told.error();
  return json_response(call.client.expand_blobs(state_json(*state)["plan"], call.shard(*run)));
}

Said explain_run(Call& call) {
  only_query(call.request, {});
  const Result<RunId> run = run_argument(call.name);
  if (!run) return run.error();
  const Result<Explained> seen = look_at(call.client, call.store(), call.opened.dsn, *run);
  if (!seen) return seen.error();
  return json_response(explained_json(*seen));
}

Said list_graphs(Call& call) {
  only_query(call.request, {});
  std::vector<Json> lines;
  for (const GraphRow& row : call.store().graphs()) lines.push_back(graph_json(row));
  return list_response(call.request, lines);
}

Said show_graph(Call& call) {
  only_query(call.request, {"format"});
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

Said list_queues(Call& call) {
  only_query(call.request, {});
  std::vector<Json> lines;
  for (const auto& [name, line] : queue_lines(call.store())) lines.push_back(queue_json(name, line));
  return list_response(call.request, lines);
}

Said list_workers(Call& call) {
  only_query(call.request, {});
  const TimeUs now_us = call.store().database_time();
  std::vector<Json> lines;
  std::map<SessionId, std::int64_t> held = call.store().held_counts();
  for (const SessionRow& row : call.store().sessions()) lines.push_back(session_json(row, held[row.id], now_us));
  return list_response(call.request, lines);
}

Said show_metrics(Call& call) {
  return ApiResponse{200, metrics_text(call.store(), call.opened.dsn), "text/plain; version=0.0.4; charset=utf-8"};
}

// The stream goes on after the call, each time with whatever client is free.
ApiStream stream_of(const Call& call, const EventCursor& from) {
  ApiStream stream{std::string(event_stream), ": nothing new\n\n", {}};
  stream.next = [&clients = call.clients, &store = call.store(), cursor = from]() mutable {
    return next_chunk([&] { return next_events(*Clients::Loan(clients), store, cursor); });
  };
  return stream;
}

// How a page goes on that is full: relative to itself.
std::string next_page(const EventsWanted& wanted, std::int64_t from) {
  const std::string limit = wanted.limit == events_page ? "" : "&limit=" + std::to_string(wanted.limit);
  return "<?from=" + std::to_string(from) + limit + (wanted.raw ? "&raw=true" : "") + ">; rel=\"next\"";
}

Said page_of_events(Call& call, const RunId& run, const EventsWanted& wanted) {
  constexpr std::size_t bytes_max = 8 << 20;
  const bool is_array = !accepts(call.request, json_lines);
  ApiResponse page{200, is_array ? "[" : "", std::string(is_array ? "application/json" : json_lines)};
  std::int64_t last = 0;
  std::int32_t count = 0;
  const Status told = for_each_event(call.client, run, call.shard(run), wanted, [&](const Json& line) {
    page.body += (is_array && count > 0 ? "," : "") + canonical(line) + (is_array ? "" : "\n");
    last = line["seq"];
    return ++count < wanted.limit && page.body.size() < bytes_max;
  });
  if (!told) return told.error();
  if (is_array) page.body += "]\n";
  if (count == wanted.limit || page.body.size() >= bytes_max)
    page.headers.emplace_back("Link", next_page(wanted, last + 1));
  return page;
}

Said show_events(Call& call) {
  const EventsWanted wanted = events_query(call.request);
  const Result<RunId> run = run_argument(call.name);
  if (!run) return run.error();
  if (!query_flag(call.request, "follow") && !accepts(call.request, event_stream)) {
    return page_of_events(call, *run, wanted);
  }
  if (const auto none = call.client.events(*run, wanted.after, 1); !none) return none.error();
  const bool is_again = !call.request.header("last-event-id").empty();
  if (is_again && has_ended_by(call.store(), *run, wanted.after)) return ApiResponse{204, "", ""};
  return stream_of(call, {*run, call.shard(*run), wanted.after, wanted.raw});
}

// --- asking ----------------------------------------------------------------------------------------------------------

Said start_run(Call& call) {
  const StartOptions options = start_body(call.request);
  Result<StartRun> command = start_command(options);
  if (!command) return command.error();
  const Result<Started> started = call.client.start(*std::move(command), options.key);
  if (!started) return started.error();
  return json_response({{"run", to_string(started->run)}}, started->existed ? 200 : 201);
}

Said fork_run(Call& call) {
  const ForkRunOptions options = fork_body(call.request);
  const Result<RunId> run = run_argument(call.name);
  if (!run) return run.error();
  Result<ForkOptions> fork = fork_options(call.client, options);
  if (!fork) return fork.error();
  const Result<Started> started = call.client.fork(*run, *std::move(fork));
  if (!started) return started.error();
  return json_response({{"run", to_string(started->run)}}, 201);
}

Said answer_question(Call& call) {
  const AnswerOptions options = answer_body(call.request);
  const Result<RunId> run = run_argument(call.name);
  if (!run) return run.error();
  const Result<std::string> question = question_meant(call.client, *run, options.question);
  if (!question) return question.error();
  const Answer command{*question, options.value, options.by, {}};
  if (const Result<Done> done = call.client.command(*run, command); !done) return done.error();
  return json_response({{"run", call.name}, {"question", *question}});
}

Said signal_run(Call& call) {
  const SignalOptions options = signal_body(call.request);
  const Result<RunId> run = run_argument(call.name);
  if (!run) return run.error();
  const SendSignal command{options.name, options.value, options.id};
  if (const Result<Done> done = call.client.command(*run, command); !done) return done.error();
  return json_response(
      {{"run", call.name}, {"signal", options.name}, {"id", options.id.empty() ? Json(nullptr) : Json(options.id)}});
}

Said control(Call& call, const Command& command) {
  const Result<RunId> run = run_argument(call.name);
  if (!run) return run.error();
  const Result<std::string> word = words_after(call.client, call.store(), {*run}, command).front();
  if (!word) return word.error();
  return json_response({{"run", call.name}, {"status", *word}});
}

Said cancel_run(Call& call) { return control(call, Cancel{reason_body(call.request)}); }

template <class Asked>
Said control_run(Call& call) {
  no_body(call.request);
  return control(call, Asked{});
}

Said add_graph(Call& call) {
  const Result<GraphRef> added = call.client.add_graph(graph_body(call.request));
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

// Of a connection of its own, however others wait for theirs.
ApiResponse readiness(const std::string& dsn) {
  const Status answers = probe_database(dsn);
  if (answers) return json_response({{"ready", true}});
  spdlog::warn("The API's database is away: {}", answers.error().message);
  return away_response();
}

// What `work` says, or what it threw, as an answer.
template <class Work>
ApiAnswer guarded(Work&& work) {
  try {
    Said said = work();
    if (const auto* error = std::get_if<Error>(&said)) return error_response(*error);
    if (auto* stream = std::get_if<ApiStream>(&said)) return std::move(*stream);
    return std::get<ApiResponse>(std::move(said));
  } catch (const CLI::ValidationError& fault) {
    return error_response({Code::invalid, fault.what()});
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

// Each what the one before needs as well. What needs no token has HEAD beside GET.
enum class Needs : std::uint8_t { nothing, look, client, token };

struct Route {
  std::string_view method;
  std::string_view path;
  Said (*answer)(Call&);
  Needs needs = Needs::token;
};

constexpr Route routes[] = {
    {"GET", "/healthz", nullptr, Needs::nothing},
    {"GET", "/readyz", nullptr, Needs::look},
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

struct Found {
  const Route* route = nullptr;
  std::string name;
  std::string allowed;  // the methods of the path
};

Found find_route(const ApiRequest& request) {
  Found found;
  for (const Route& route : routes) {
    std::string name;
    if (!is_at(request, route.path, name)) continue;
    const bool has_head = route.needs != Needs::token;
    found.allowed += (found.allowed.empty() ? "" : ", ") + std::string(route.method) + (has_head ? ", HEAD" : "");
    if (route.method != request.method && !(has_head && request.method == "HEAD")) continue;
    found.route = &route;
    found.name = std::move(name);
  }
  return found;
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
  Opened& opened;
  Guard guard;
  Clients clients;
};

Api::Api(Opened& opened, Guard guard, int threads)
    : parts_(std::make_unique<Parts>(opened, std::move(guard), threads)) {}
Api::~Api() = default;

std::optional<ApiResponse> Api::at_once(const ApiRequest& request) const {
  const Found found = find_route(request);
  const bool is_open = found.route != nullptr && found.route->needs != Needs::token;
  if (std::optional<ApiResponse> refusal = parts_->guard.refusal(request, is_open)) return refusal;
  if (found.allowed.empty())
    return error_response(404, "not_found", "Expected a path of this API, but there is nothing here.");
  if (found.route == nullptr) {
    const std::string kind = found.allowed.find(',') == std::string::npos ? "the method " : "one of the methods ";
    ApiResponse response =
        error_response(405, "invalid", "Expected " + kind + found.allowed + ", but found " + request.method + ".");
    response.headers.emplace_back("Allow", found.allowed);
    return response;
  }
  if (has_body(request) && !is_json(request.header("content-type")))
    return error_response(415, "invalid", "Expected a body as application/json, but it says that it is not.");
  if (found.route->needs == Needs::nothing) return json_response({{"alive", true}});
  return {};
}

bool Api::is_look(const ApiRequest& request) const {
  const Found found = find_route(request);
  return found.route != nullptr && found.route->needs == Needs::look;
}

ApiAnswer Api::worked_out(const ApiRequest& request) {
  return guarded([&]() -> Said {
    Found found = find_route(request);
    if (found.route->needs == Needs::look) return readiness(parts_->opened.dsn);
    const Clients::Loan client(parts_->clients);
    if (request.method == "POST") (*client).load_graphs();  // which version is current is another's to say
    Call call{request, std::move(found.name), parts_->opened, parts_->clients, *client};
    return found.route->answer(call);
  });
}

}  // namespace cairn
