#include "ops/http/write_routes.hpp"

#include <algorithm>

#include "ops/answers/graph_formats.hpp"
#include "ops/answers/graph_surroundings.hpp"
#include "ops/http/bodies.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/service/run_commands.hpp"
#include "workers/ids.hpp"

namespace cairn {
namespace {

using Refusal = std::optional<ApiResponse>;

// --- what a scope covers ---------------------------------------------------------------------------------------------

Refusal add_scope_tags(const Scope& scope, Tags& tags) {
  for (const auto& [key, value] : scope.tags) {
    const auto [tag, is_new] = tags.emplace(key, value);
    if (!is_new && tag->second != value)
      return forbidden_response("Expected the tag " + key + "=" + value + ", which this token has, but found " + key +
                                "=" + tag->second + ".");
  }
  return {};
}

Refusal check_queues(const Scope& scope, const Graph& graph) {
  const std::optional<std::string> queue = queue_outside(scope, graph);
  if (!queue) return {};
  return forbidden_response("Expected a graph that works on this token's queues, but " + graph.name + " names " +
                            *queue + ".");
}

// The key of a run that the scope does not cover stays taken, and nothing is said of that run.
Status check_key(const RouteCall& call, const StartRequest& request) {
  if (request.key.empty() || call.scope().covers_all_runs()) return Done{};
  const std::optional<RunRow> row = call.store().run(keyed_run_id(request.graph, request.key));
  if (!row || call.scope().covers(*row)) return Done{};
  return Error{Code::conflict, "Expected a key that is free for this token, but it was used."};
}

Refusal check_start(const RouteCall& call, const StartRequest& request) {
  if (!call.scope().covers_graph(request.graph)) return error_response(no_such_graph(request.graph));
  if (const GraphRef graph = call.client.graphs().current(request.graph))
    if (Refusal outside = check_queues(call.scope(), *graph)) return outside;
  if (const Status free = check_key(call, request); !free) return error_response(free.error());
  return {};
}

// --- who may bring a graph -------------------------------------------------------------------------------------------

bool is_built_in(const RouteCall& call, const std::string& name) {
  const auto& graphs = call.parts.opened.catalogue->graphs;
  return std::any_of(graphs.begin(), graphs.end(), [&name](const GraphRef& graph) { return graph->name == name; });
}

// Looks at the name alone, so that nothing is kept of a graph that may not be brought.
Refusal check_graph_name(const RouteCall& call, const Json& graph) {
  const Access& access = call.caller->access;
  if (!access.may(ApiRole::operate)) return role_refusal(*call.caller, ApiRole::operate);
  const Json name = graph.is_object() ? graph.value("name", Json()) : Json();
  if (!name.is_string()) return {};  // a fault of the graph
  if (is_built_in(call, name) && !access.may(ApiRole::admin))
    return forbidden_response("Expected a token with the role admin for the built-in graph " + name.get<std::string>() +
                              ", but " + call.caller->token + " has it not.");
  if (!access.scope.covers_graph(name))
    return forbidden_response("Expected a graph of this token's scope, but found " + name.get<std::string>() + ".");
  return {};
}

Refusal check_limits(const RouteCall& call, const Graph& graph) {
  const GraphLimits& most = call.parts.graphs;
  if (call.caller->access.may(ApiRole::admin)) return {};
  if (graph.steps_max > most.steps)
    return forbidden_response("Expected limits.steps of at most " + std::to_string(most.steps) + ", but found " +
                              std::to_string(graph.steps_max) + "; more needs the role admin.");
  for (const Node& node : graph.nodes)
    if (node.retry.attempts > most.attempts)
      return forbidden_response("Expected retry.attempts of at most " + std::to_string(most.attempts) + " at node " +
                                node.name + ", but found " + std::to_string(node.retry.attempts) +
                                "; more needs the role admin.");
  return {};
}

Refusal check_graph(const RouteCall& call, const Graph& graph) {
  if (Refusal refusal = check_limits(call, graph)) return refusal;
  if (Refusal outside = check_queues(call.scope(), graph)) return outside;
  for (const Node& node : graph.nodes)
    if (const auto* calls = node.call(); calls != nullptr && !call.scope().covers_graph(calls->graph))
      return forbidden_response("Expected calls within this token's scope, but node " + node.name + " calls " +
                                calls->graph + ".");
  return {};
}

// Names of graphs beyond the scope are left out.
Surroundings surroundings(RouteCall& call) {
  Surroundings around = deployed_surroundings(*call.parts.opened.catalogue, call.client, call.store());
  std::erase_if(*around.graphs, [&call](const std::string& name) { return !call.scope().covers_graph(name); });
  return around;
}

// --- under whose name ------------------------------------------------------------------------------------------------

// `by` is what the person says; the event's actor stands next to it.
Status check_by(const Caller& caller, const std::string& by) {
  for (const std::string_view kind : {"token:", "user:", "worker:", "schedule:"})
    if (by.starts_with(kind) && by != caller.actor)
      return Error{Code::invalid, "Expected the name of a person as by, but \"" + by + "\" has the form of an actor."};
  return Done{};
}

}  // namespace

RouteReply start_run(RouteCall& call) {
  Result<StartRequest> request = start_body(call.request);
  if (!request) return request.error();
  if (Refusal outside = check_start(call, *request)) return *std::move(outside);
  if (Refusal other = add_scope_tags(call.scope(), request->tags)) return *std::move(other);
  if (!request->continues.empty()) {
    const Result<RunId> earlier = run_named(call, request->continues);
    if (!earlier) return earlier.error();
    request->continues = to_string(*earlier);
  }
  Result<StartRun> command = start_command(*request);
  if (!command) return command.error();
  if (command->continues)
    if (const Status covered = check_run(call, *command->continues); !covered) return covered.error();
  const Result<Started> started = call.client.start(*std::move(command), request->key);
  if (!started) return started.error();
  return json_response({{"run", to_string(started->run)}}, started->existed ? 200 : 201);
}

RouteReply fork_run(RouteCall& call) {
  Result<ForkRequest> request = fork_body(call.request);
  if (!request) return request.error();
  const Result<RunId> run = run_of(call);
  if (!run) return run.error();
  if (Refusal other = add_scope_tags(call.scope(), request->tags)) return *std::move(other);
  if (request->graph)
    if (Refusal refusal = check_graph_name(call, *request->graph)) return *std::move(refusal);
  Result<ForkOptions> fork = fork_options(call.client, *request);
  if (!fork) return fork.error();
  if (fork->graph != nullptr)
    if (Refusal refusal = check_graph(call, *fork->graph)) return *std::move(refusal);
  const Result<Started> started = call.client.fork(*run, *std::move(fork));
  if (!started) return started.error();
  return json_response({{"run", to_string(started->run)}}, 201);
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
  const Json id = request->id.empty() ? Json(nullptr) : Json(request->id);
  return json_response({{"run", call.name}, {"signal", request->name}, {"id", id}});
}

namespace {

// The run that goes on, and its status; 201 if it is another one.
RouteReply control(RouteCall& call, const ControlRequest& request) {
  const Result<RunId> run = run_of(call);
  if (!run) return run.error();
  std::optional<std::int64_t> until_run;
  const Result<Controlled> done =
      control_runs(call.client, call.store(), {*run}, request, fork_from_quota(call, until_run)).front();
  if (until_run) return quota_response(*call.caller, *until_run);
  if (!done) return done.error();
  if (!done->fork) return json_response({{"run", to_string(*run)}, {"status", done->status}});
  return json_response(
      {{"run", to_string(done->fork->run)}, {"status", done->status}, {"forked_at", *done->fork->forked_at}}, 201);
}

RouteReply control_without_body(RouteCall& call, ControlRequest::Kind kind) {
  const Status none = no_body(call.request);
  return none ? control(call, {.kind = kind}) : none.error();
}

}  // namespace

RouteReply cancel_run(RouteCall& call) {
  const Result<ControlRequest> cancel = cancel_body(call.request);
  return cancel ? control(call, *cancel) : cancel.error();
}

RouteReply pause_run(RouteCall& call) { return control_without_body(call, ControlRequest::Kind::pause); }
RouteReply resume_run(RouteCall& call) { return control_without_body(call, ControlRequest::Kind::resume); }
RouteReply retry_run(RouteCall& call) { return control_without_body(call, ControlRequest::Kind::retry); }

RouteReply reset_a_run(RouteCall& call) {
  const Result<std::string> to = reset_body(call.request);
  return to ? control(call, {.kind = ControlRequest::Kind::reset, .to = *to}) : to.error();
}

RouteReply add_graph(RouteCall& call) {
  const Result<Json> graph = graph_body(call.request);
  if (!graph) return graph.error();
  if (Refusal refusal = check_graph_name(call, *graph)) return *std::move(refusal);
  const Result<GraphRef> added = call.client.try_graph(*graph);
  if (!added) return added.error();
  if (Refusal refusal = check_graph(call, **added)) return *std::move(refusal);
  call.client.store_graph(*added, true);
  const GraphReview review = review_graph(*graph, surroundings(call));
  return json_response({{"name", (*added)->name}, {"version", (*added)->version}, {"warnings", review.warnings}}, 201);
}

RouteReply check_a_graph(RouteCall& call) {
  const Result<Json> graph = graph_body(call.request);
  if (!graph) return graph.error();
  return json_response(review_json(review_graph(*graph, surroundings(call))), 200);
}

}  // namespace cairn
