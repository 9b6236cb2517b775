#include "ops/http/write_routes.hpp"

#include <algorithm>
#include <utility>

#include "ops/answers/graph_formats.hpp"
#include "ops/answers/queues.hpp"
#include "ops/answers/run_json.hpp"
#include "ops/http/bodies/bodies.hpp"
#include "ops/http/graph_routes.hpp"
#include "ops/http/read_routes.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/service/run_commands.hpp"
#include "workers/ids.hpp"
#include "workers/runs/trace_ids.hpp"

namespace cairn {
namespace {

// --- what a scope covers ---------------------------------------------------------------------------------------------

ApiStatus add_scope_tags(const Scope& scope, Tags& tags) {
  for (const auto& [key, value] : scope.tags) {
    const auto [tag, is_new] = tags.emplace(key, value);
    if (!is_new && tag->second != value)
      return forbidden_response("Expected the tag " + key + "=" + value + ", which this token has, but found " + key +
                                "=" + tag->second + ".");
  }
  return Done{};
}

// The span of another system under which the run is started. A header that is none is passed over, as W3C has it.
void add_traceparent(const RouteCall& call, Tags& tags) {
  const std::string text = call.request.header("traceparent");
  if (const std::optional<TraceParent> parent = parse_traceparent(text))
    tags.emplace(traceparent_tag, "00-" + parent->trace + "-" + parent->span + "-01");
}

// The key of a run that the scope does not cover stays taken, and nothing is said of that run.
Status check_key(const RouteCall& call, const StartRequest& request) {
  if (request.key.empty() || call.scope().covers_all_runs()) return Done{};
  const std::optional<RunRow> row = call.store().run(keyed_run_id(request.graph, request.key));
  if (!row || call.scope().covers(*row)) return Done{};
  return Error{Code::conflict, "Expected a key that is free for this token, but it was used."};
}

// False: starts of this scope and of others may have one key, so that they would cancel, replace or join each other.
// Starts that wait for another's run, or begin nothing because of it, do it no harm.
bool keeps_keys_apart(const Scope& scope, const Graph& graph) {
  if (scope.tags.empty() || !graph.starts) return true;
  const SingletonStarts* singleton = graph.starts->singleton();
  if (singleton != nullptr && singleton->when != SingletonStarts::When::cancel) return true;
  const auto is_key = [&graph](const auto& tag) { return graph.starts->key == "tag." + tag.first; };
  return std::any_of(scope.tags.begin(), scope.tags.end(), is_key);
}

ApiStatus check_start(const RouteCall& call, const StartRequest& request) {
  if (!call.scope().covers_graph(request.graph)) return error_response(no_such_graph(request.graph));
  if (const GraphRef graph = call.client.graphs().current(request.graph)) {
    if (ApiStatus passed = check_queues(call.scope(), *graph); !passed) return passed;
    if (!keeps_keys_apart(call.scope(), *graph))
      return forbidden_response(
          "Expected a graph whose starts have their key by a tag of the token's scope, but those of " + request.graph +
          " may meet starts that the scope does not cover.");
  }
  if (const Status free = check_key(call, request); !free) return error_response(free.error());
  return Done{};
}

// --- under whose name ------------------------------------------------------------------------------------------------

// `by` is what the person says; the event's actor stands next to it.
Status check_by(const Caller& caller, const std::string& by) {
  for (const std::string_view kind : {"token:", "user:", "worker:", "schedule:", "link:"})
    if (by.starts_with(kind) && by != caller.actor)
      return Error{Code::invalid, "Expected the name of a person as by, but \"" + by + "\" has the form of an actor."};
  return Done{};
}

// --- several runs ----------------------------------------------------------------------------------------------------

// A refusal of one of them, of which nothing was started.
ApiResponse refusal_of_one(std::size_t place, ApiResponse refusal) {
  const Result<Json> body = parse_json(refusal.body, "a refusal");
  const Json error = body && body->is_object() ? body->value("error", Json::object()) : Json::object();
  return error_response(refusal.status, error.value("code", "invalid"),
                        "Run " + std::to_string(place + 1) + ": " + error.value("message", ""));
}

Result<std::vector<std::pair<StartRun, std::string>>, ApiResponse> start_commands(RouteCall& call,
                                                                                  std::vector<StartRequest> requests) {
  std::vector<std::pair<StartRun, std::string>> commands;
  for (StartRequest& request : requests) {
    ApiStatus passed = check_start(call, request);
    if (passed) passed = add_scope_tags(call.scope(), request.tags);
    if (!passed) return refusal_of_one(commands.size(), std::move(passed).error());
    add_traceparent(call, request.tags);
    Result<StartRun> command = start_command(request);
    if (!command) return refusal_of_one(commands.size(), error_response(command.error()));
    if (const Status fits = call.client.check_input(request.graph, request.input); !fits)
      return refusal_of_one(commands.size(), error_response(fits.error()));
    commands.emplace_back(*std::move(command), request.key);
  }
  return commands;
}

// The request itself has taken one run from the quota; nothing is taken if there is not enough for all.
std::optional<std::int64_t> take_more_runs(const RouteCall& call, std::size_t more) {
  for (std::size_t taken = 0; taken < more; ++taken) {
    const std::optional<std::int64_t> until_run = call.parts.quotas.take_run(*call.caller);
    if (!until_run) continue;
    for (; taken > 0; --taken) call.parts.quotas.give_back_run(*call.caller);
    return until_run;
  }
  return {};
}

// The run that has the key of a singleton is named only where it is covered.
Result<Started> covered_start(const RouteCall& call, Result<Started> started) {
  const bool is_other = started && started->standing == StartStanding::skipped;
  if (!is_other || check_run(call, started->run)) return started;
  return Error{Code::conflict, "Expected no open run with the key of this start, but there is one."};
}

Json started_json(const Started& started) {
  return {{"run", to_string(started.run)}, {"existed", started.existed}, {"start", to_string(started.standing)}};
}

RouteReply start_runs(RouteCall& call, std::int64_t wait_ms) {
  if (wait_ms > 0) return bad_request("Expected wait_ms at the start of one run, but found it with several.");
  Result<std::vector<StartRequest>> requests = starts_body(call.request);
  if (!requests) return requests.error();
  const std::string& name = requests->front().graph;
  if (!call.scope().covers_graph(name)) return no_such_graph(name);
  if (const Result<GraphRef> graph = find_graph(call.client, name); !graph || (*graph)->name != name)
    return graph ? no_such_graph(name) : graph.error();
  auto commands = start_commands(call, *std::move(requests));
  if (!commands) return std::move(commands).error();
  if (const auto until_run = take_more_runs(call, commands->size() - 1))
    return quota_response(*call.caller, *until_run);
  TakenRuns more(call.parts.quotas, *call.caller, commands->size() - 1);
  std::vector<Result<Started>> started = call.client.start_many(*std::move(commands));
  for (Result<Started>& one : started) one = covered_start(call, std::move(one));
  Json runs = Json::array();
  std::size_t is_new = 0;
  for (const Result<Started>& one : started) {
    is_new += one && !one->existed ? 1 : 0;
    if (one)
      runs.push_back(started_json(*one));
    else
      runs.push_back({{"error", {{"code", to_string(one.error().code)}, {"message", one.error().message}}}});
  }
  more.keep(is_new - std::min<std::size_t>(is_new, 1));
  return json_response({{"runs", runs}, {"started", is_new}}, is_new > 0 ? 201 : 200);
}

// --- a start that waits ----------------------------------------------------------------------------------------------

ApiResponse started_response(const Started& started) {
  Json shown = started_json(started);
  shown.erase("existed");
  if (started.standing == StartStanding::waits) return json_response(std::move(shown), started.existed ? 200 : 202);
  return started.existed ? json_response(std::move(shown))
                         : created_response(std::move(shown), "runs", to_string(started.run));
}

ApiLater once_ended(const RouteCall& call, const Started& started, std::int64_t wait_ms) {
  const bool is_to_begin = started.standing == StartStanding::waits;
  ApiLater later = once_it_has_ended(call, started.run, wait_ms, is_to_begin);
  later.started = to_string(started.run);
  later.is_new = !started.existed;
  later.otherwise = started_response(started);
  return later;
}

RouteReply state_of_started(RouteCall& call) {
  const Result<RunId> run = run_argument(call.request.started);
  if (!run) return run.error();
  return state_response(call, *run);
}

}  // namespace

RouteReply start_run(RouteCall& call) {
  if (!call.request.started.empty()) return state_of_started(call);
  if (const Status known = only_query(call.request, {"wait_ms"}); !known) return known.error();
  const Result<std::int64_t> wait_ms = wait_asked(call.request);
  if (!wait_ms) return wait_ms.error();
  if (*wait_ms > 0 && !call.caller->access.may(ApiRole::read)) return role_refusal(*call.caller, ApiRole::read);
  if (has_runs(call.request)) return start_runs(call, *wait_ms);
  Result<StartRequest> request = start_body(call.request);
  if (!request) return request.error();
  if (ApiStatus passed = check_start(call, *request); !passed) return std::move(passed).error();
  if (ApiStatus passed = add_scope_tags(call.scope(), request->tags); !passed) return std::move(passed).error();
  add_traceparent(call, request->tags);
  if (!request->continues.empty()) {
    const Result<RunId> earlier = run_named(call, request->continues);
    if (!earlier) return earlier.error();
    request->continues = to_string(*earlier);
  }
  Result<StartRun> command = start_command(*request);
  if (!command) return command.error();
  if (command->continues)
    if (const Status covered = check_run(call, *command->continues); !covered) return covered.error();
  const Result<Started> started = covered_start(call, call.client.start(*std::move(command), request->key));
  if (!started) return started.error();
  if (*wait_ms > 0) return once_ended(call, *started, *wait_ms);
  return started_response(*started);
}

namespace {

// A fork goes on with the graph of its origin.
ApiStatus check_queues_of(const RouteCall& call, const RunId& run) {
  const std::optional<RunRow> row = call.store().run(run);
  const Result<GraphRef> graph = row ? call.client.find_version(row->version) : Result<GraphRef>();
  if (!graph) return error_response(graph.error());
  return *graph == nullptr ? ApiStatus(Done{}) : check_queues(call.scope(), **graph);
}

// The refusal; inside a commit it has the events next to `at` at which a fork can begin.
RouteReply refused_fork(RouteCall& call, const RunId& run, std::int64_t at, const Error& error) {
  if (error.code != Code::invalid) return error;
  const Result<std::vector<std::int64_t>> ends = call.client.ends_near(run, at);
  if (!ends || ends->front() == at) return error;
  return error_response(400, to_string(error.code), error.message, {{"ends", *ends}});
}

}  // namespace

RouteReply fork_run(RouteCall& call) {
  Result<ForkRequest> request = fork_body(call.request);
  if (!request) return request.error();
  const Result<RunId> run = run_of(call);
  if (!run) return run.error();
  if (ApiStatus passed = add_scope_tags(call.scope(), request->tags); !passed) return std::move(passed).error();
  GraphRef graph;
  if (const std::optional<Json> text = std::exchange(request->graph, {})) {
    Result<GraphRef, ApiResponse> brought = brought_graph(call, *text);
    if (!brought) return std::move(brought).error();
    graph = *brought;
  } else if (ApiStatus passed = check_queues_of(call, *run); !passed) {
    return std::move(passed).error();
  }
  Result<ForkOptions> fork = fork_options(call.client, *request);
  if (!fork) return fork.error();
  fork->graph = graph;
  const Result<Started> started = call.client.fork(*run, *std::move(fork));
  if (!started) return refused_fork(call, *run, request->at, started.error());
  const std::string fork_id = to_string(started->run);
  return created_response({{"run", fork_id}}, "runs", fork_id);
}

RouteReply answer_question(RouteCall& call) {
  const Result<AnswerRequest> request = answer_body(call.request);
  if (!request) return request.error();
  if (const Status fine = check_by(*call.caller, request->by); !fine) return fine.error();
  const Result<RunId> run = run_of(call);
  if (!run) return run.error();
  const Result<std::string> question = question_meant(call.client, *run, request->question);
  if (!question) return question.error();
  const Answer command{*question, request->value, request->by, {}};
  if (const Result<Done> done = call.client.command(*run, command); !done) return done.error();
  return json_response({{"run", call.name}, {"question", *question}});
}

RouteReply signal_run(RouteCall& call) {
  const Result<SignalRequest> request = signal_body(call.request);
  if (!request) return request.error();
  const Result<RunId> run = run_of(call);
  if (!run) return run.error();
  const SendSignal command{request->name, request->value, request->id};
  if (const Result<Done> done = call.client.command(*run, command); !done) return done.error();
  return json_response(signal_json(call.client, *run, *request));
}

namespace {

// The run that goes on, and its status; 201 if it is another one.
RouteReply control(RouteCall& call, const ControlRequest& request) {
  const Result<RunId> run = run_of(call);
  if (!run) return run.error();
  ForksOfCaller forks(call);
  const Result<Controlled> done = control_runs(call.client, call.store(), {*run}, request, forks.may_fork()).front();
  if (!forks.answer()) return std::move(forks.answer()).error();
  if (!done) return done.error();
  if (!done->fork) return json_response({{"run", to_string(*run)}, {"status", done->status}});
  const std::string forked = to_string(done->fork->run);
  return created_response({{"run", forked}, {"status", done->status}, {"forked_at", *done->fork->forked_at}}, "runs",
                          forked);
}

RouteReply control_asked(RouteCall& call, const Result<ControlRequest>& asked) {
  return asked ? control(call, *asked) : asked.error();
}

RouteReply control_with_reason(RouteCall& call, ControlRequest::Kind kind) {
  return control_asked(call, reason_body(call.request, kind));
}

}  // namespace

RouteReply cancel_run(RouteCall& call) { return control_asked(call, cancel_body(call.request)); }
RouteReply reset_a_run(RouteCall& call) { return control_asked(call, reset_body(call.request)); }
RouteReply pause_run(RouteCall& call) { return control_with_reason(call, ControlRequest::Kind::pause); }
RouteReply resume_run(RouteCall& call) { return control_with_reason(call, ControlRequest::Kind::resume); }
RouteReply retry_run(RouteCall& call) { return control_with_reason(call, ControlRequest::Kind::retry); }

RouteReply move_run(RouteCall& call) {
  const Result<MoveBody> move = move_body(call.request);
  if (!move) return move.error();
  Result<GraphRef, ApiResponse> graph = brought_graph(call, move->graph);
  if (!graph) return std::move(graph).error();
  return control(call, {.kind = ControlRequest::Kind::move, .reason = move->reason, .graph = *graph});
}

RouteReply change_a_queue(RouteCall& call) {
  Result<QueueChange> change = queue_body(call.request);
  if (!change) return change.error();
  if (const Status fine = check_name_here(call.name, "the name of a queue"); !fine) return fine.error();
  if (!call.scope().covers_queue(call.name))
    return Error{Code::not_found, "Expected a queue named " + call.name + ", but there is none."};
  if (!call.scope().covers_limits_of(call.name))
    return forbidden_response("Expected a token that covers all runs, or has queue " + call.name +
                              " in its scope, to change that queue, but " + call.caller->token +
                              " has a scope of graphs or tags.");
  change->queue = call.name;
  const Result<QueueLimits> limits = change_queue(call.store(), *change, call.caller->actor);
  if (!limits) return limits.error();
  return json_response(limits_seen(call, limits_json(*limits)));
}

}  // namespace cairn
